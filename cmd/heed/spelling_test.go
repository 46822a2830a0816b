package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heed/proxy"
)

// Spellings of loopback that some programs read as an address: decimal, octal,
// hexadecimal, short ones, with zeros in front, with a zone.
var spellings = []string{
	"2130706433", "017700000001", "0x7f000001", "0X7F000001", "0x7f.1", "0x7f.0.0.1", "0177.0.0.1", "127.1", "127.0.1", "127.0.0.01", "127.0.0.1.0x0",
	"[::1%25lo]", "[::1%lo]", "[fe80::1%25lo]", "[::1%251]", "[127.0.0.1]", "[::ffff:0x7f.0.0.1]",
}

// Whatever may be dialled, and whatever leads there, they are no hosts: nothing
// is asked, and nobody is, neither the site nor another proxy.
func TestOtherSpellingsAreNoHostsOnAnyPath(t *testing.T) {
	port := newSite(t, false, false, "", func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the site was asked for %s", r.URL)
	}).port()
	upstream := newSilentUpstream(t)
	for name, egress := range map[string]string{"direct": "", "SOCKS": "socks5://" + upstream.addr, "HTTP": "http://" + upstream.addr} {
		for _, mode := range []string{"intercept", "tunnel"} {
			dir := t.TempDir()
			text := fmt.Sprintf("listen: 127.0.0.1:0\nadmin: {listen: \"\"}\naudit: {path: \"\"}\nhttps: {mode: %s, ca_dir: %s}\negress: {allow: [127.0.0.0/8, \"::1\"], proxy: %q}\n",
				mode, filepath.Join(dir, "ca"), egress)
			if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			h := serveFile(t, filepath.Join(dir, "config.yaml"), func(*proxy.Record) {})
			for _, host := range spellings {
				for way, request := range map[string]string{
					"plain":     "GET http://" + host + ":" + port + "/ HTTP/1.1\r\nHost: x\r\n",
					"WebSocket": "GET http://" + host + ":" + port + "/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
					"CONNECT":   "CONNECT " + host + ":" + port + " HTTP/1.1\r\nHost: x\r\n",
				} {
					if got := rawAnswer(t, h.addr, request+"Connection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400 ") {
						t.Errorf("%s, https.mode %s, %s of %s: %.300s", name, mode, way, host, got)
					}
				}
			}
			h.end()
		}
	}
	if n := upstream.n.Load(); n != 0 {
		t.Errorf("the upstream proxy was asked %d times", n)
	}
}

// A robots.txt that redirects to one is unreachable.
func TestRobotsTXTRedirectedToAnotherSpelling(t *testing.T) {
	for _, host := range spellings {
		var site *site
		site = newSite(t, false, false, "", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/robots.txt" {
				t.Errorf("%s: the site was asked for %s", host, r.URL)
			}
			w.Header()["Location"] = []string{"http://" + host + ":" + site.port() + "/elsewhere"}
			w.WriteHeader(http.StatusFound)
		})
		var out strings.Builder
		code := run([]string{"check", "--json", site.URL + "/page"}, env{stdout: &out, stderr: &out, environ: []string{"HEED_EGRESS_ALLOW=127.0.0.0/8,::1"}})
		if code != exitUnknown || !strings.Contains(out.String(), `"reason":"unreachable"`) || site.count("/robots.txt") != 1 {
			t.Errorf("%s: exit %d, asked %d times: %s", host, code, site.count("/robots.txt"), out.String())
		}
	}
}

func (s *site) port() string { return s.URL[strings.LastIndexByte(s.URL, ':')+1:] }
