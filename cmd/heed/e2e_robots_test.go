package main

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"heed/internal/ca"
)

// Two hundred requests to an origin that nobody has asked yet: one fetch, and
// no request gets ahead of it.
func TestConcurrentRequestsToAColdOriginFetchOnce(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "intercepted"}[secure], func(t *testing.T) {
			release := make(chan struct{})
			var early sync.Once
			cold := newSite(t, secure, true, "", func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					<-release
					_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private\n")
					return
				}
				select {
				case <-release:
				default:
					early.Do(func() { t.Errorf("%s was let through before robots.txt was there", r.URL.Path) })
				}
			})
			other := newSite(t, secure, true, "")
			p := startProcess(t, []*site{cold, other}, "HEED_ROBOTS_TIMEOUT=20s")
			c := p.client(true)
			const n = 200
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() {
					url, want := fmt.Sprintf("%s/public/%d", cold.URL, i), 200
					if i%2 == 1 {
						url, want = fmt.Sprintf("%s/private/%d", cold.URL, i), 403
					}
					if a, err := fetchURL(c, url); err != nil || a.status != want {
						t.Errorf("%s: %d %v, want %d", url, a.status, err, want)
					}
				})
			}
			// The slow robots.txt of one origin does not delay another.
			for cold.count("/robots.txt") == 0 {
				time.Sleep(time.Millisecond)
			}
			if a, err := fetchURL(p.client(true), other.URL+"/x"); err != nil || a.status != 200 {
				t.Errorf("another origin meanwhile: %d %v", a.status, err)
			}
			close(release)
			wg.Wait()
			if got := cold.count("/robots.txt"); got != 1 {
				t.Errorf("%d fetches of robots.txt, want 1", got)
			}
			if got := len(p.records()); got != n+1 {
				t.Errorf("%d records, want %d", got, n+1)
			}
		})
	}
}

// What a robots.txt that cannot be had, or is not there, means for a request,
// with real listeners and through the whole of heed.
func TestAccessResults(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := "http://" + closed.Addr().String()
	_ = closed.Close()
	stranger := strangeSite(t)
	trusted := newSite(t, true, true, "")
	status := func(code int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(code) }
	}
	for _, tc := range []struct {
		name, url string // an origin, or "" for one that answers as robots does
		robots    func(http.ResponseWriter)
		verdict   string
		reason    string
		says      string
	}{
		{"empty file", "", status(200), "allow", "no-group", ""},
		{"no content", "", status(204), "allow", "no-group", ""},
		{"not found", "", status(404), "allow", "unavailable", ""},
		{"forbidden", "", status(403), "allow", "unavailable", ""},
		{"gone", "", status(410), "allow", "unavailable", ""},
		{"too many requests", "", status(429), "disallow", "unreachable", "429"},
		{"server error", "", status(500), "disallow", "unreachable", "500"},
		{"service unavailable", "", status(503), "disallow", "unreachable", "503"},
		{"partial content", "", status(206), "disallow", "unreachable", "206"},
		{"not modified", "", status(304), "disallow", "unreachable", "304"},
		{"redirect loop", "", func(w http.ResponseWriter) { w.Header().Set("Location", "/robots.txt"); w.WriteHeader(302) }, "disallow", "unreachable", "loop"},
		{"redirect to a private address", "", func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://10.0.0.1/robots.txt")
			w.WriteHeader(301)
		}, "disallow", "unreachable", "private"},
		{"connection refused", refused, nil, "disallow", "unreachable", "refused"},
		{"name that does not resolve", "http://nowhere.invalid", nil, "disallow", "unreachable", "DNS"},
		{"certificate that does not verify", stranger, nil, "disallow", "unreachable", "certificate"},
		{"private address", "http://10.0.0.1", nil, "disallow", "egress-denied", "egress.allow"},
		{"reset in the middle of the body", "", func(w http.ResponseWriter) {
			c, _, _ := http.NewResponseController(w).Hijack()
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nUser-agent: *\n")
			if s, ok := c.(*tls.Conn); ok {
				c = s.NetConn()
			}
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}, "disallow", "unreachable", ""},
		{"body shorter than announced", "", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "User-agent: *\n")
		}, "disallow", "unreachable", ""},
		{"chunked body that breaks off", "", func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, "User-agent: *\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "disallow", "unreachable", ""},
		{"trickles for ever", "", func(w http.ResponseWriter) {
			for {
				if _, err := io.WriteString(w, "#\n"); err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
				time.Sleep(20 * time.Millisecond)
			}
		}, "disallow", "unreachable", "in time"},
		{"never ends, the rules first", "", func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /\n")
			forever(w, "# and so on\n")
		}, "disallow", "rule", "Disallow: /"},
		{"never ends, one line", "", func(w http.ResponseWriter) { forever(w, "xxxxxxxxxxxxxxxx") }, "disallow", "unreachable", "size limit"},
		{"gzip bomb", "", func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb())
		}, "disallow", "unreachable", "bomb"},
		{"unknown coding", "", func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "compress")
			_, _ = io.WriteString(w, "xx")
		}, "disallow", "unreachable", "encoding"},
	} {
		for _, secure := range []bool{false, true} {
			if tc.robots == nil && secure != strings.HasPrefix(tc.url, "https") {
				continue
			}
			name := tc.name + map[bool]string{false: ", plain", true: ", intercepted"}[secure]
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				origin := newSite(t, secure, false, "", func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/robots.txt" {
						tc.robots(w)
					}
				})
				url := tc.url
				if url == "" {
					url = origin.URL
				}
				p := startProcess(t, []*site{origin, trusted})
				a, err := fetchURL(p.client(false), url+"/page")
				if err != nil {
					t.Fatal(err)
				}
				want := map[string]int{"allow": 200, "disallow": 403}[tc.verdict]
				if a.status != want || !strings.Contains(a.body, tc.says) {
					t.Errorf("%d %s; want %d and %q", a.status, a.body, want, tc.says)
				}
				if asked := origin.count("/page"); tc.url == "" && asked != map[string]int{"allow": 1, "disallow": 0}[tc.verdict] {
					t.Errorf("the origin was asked %d times for the page", asked)
				}
				if retry := strings.Contains(a.header, "Retry-After: "); retry != (tc.reason == "unreachable") {
					t.Errorf("Retry-After sent: %v; header %s", retry, a.header)
				}
				if peak := peakMemory(t, p.cmd.Process.Pid); peak > 120<<20 {
					t.Errorf("peak memory %d MiB, want at most 120", peak>>20)
				}
				records := p.records()
				if len(records) != 1 || records[0]["verdict"] != tc.verdict || records[0]["reason"] != tc.reason || records[0]["status"] != float64(want) {
					t.Errorf("records %v, want %s by %s", records, tc.verdict, tc.reason)
				}
			})
		}
	}
}

// strangeSite serves https with a certificate that nobody has reason to trust.
func strangeSite(t *testing.T) string {
	authority, err := ca.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := authority.Leaf("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the stranger was asked") }))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{*leaf}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

func forever(w io.Writer, text string) {
	block := strings.Repeat(text, 1000)
	for {
		if _, err := io.WriteString(w, block); err != nil {
			return
		}
	}
}

// bomb is a gigabyte in a megabyte: members one after the other are one file
// (RFC 1952 2.2).
func bomb() []byte {
	var member bytes.Buffer
	w := gzip.NewWriter(&member)
	_, _ = w.Write(bytes.Repeat([]byte("User-agent: *\nAllow: /\n"), 1<<20/23))
	_ = w.Close()
	return bytes.Repeat(member.Bytes(), 1000)
}

// peakMemory returns the most resident memory that a process has had, in
// octets, and 0 where the system does not say.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	return 0
}

// heed check and the proxy come to the same verdict by the same rule.
func TestCheckAgreesWithTheProxy(t *testing.T) {
	secure := newSite(t, true, true, testRobots)
	plain := newSite(t, false, false, "", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			w.WriteHeader(500)
		}
	})
	p := startProcess(t, []*site{secure, plain})
	c := p.client(true)
	urls := []string{secure.URL + "/", secure.URL + "/private/x", secure.URL + "/%70rivate/x?y", secure.URL + "/robots.txt", plain.URL + "/x", plain.URL + "/robots.txt"}
	for _, url := range urls {
		if _, err := fetchURL(c, url); err != nil {
			t.Fatal(err)
		}
	}
	var out, trouble bytes.Buffer
	environ := []string{"HEED_EGRESS_ALLOW=127.0.0.0/8", "HEED_EGRESS_CA_FILE=" + p.dir + "/roots.pem"}
	code := run(append([]string{"check", "-a", "testbot", "--json"}, urls...), env{stdout: &out, stderr: &trouble, environ: environ})
	if code != exitUnknown {
		t.Errorf("exit %d, want %d: %s", code, exitUnknown, trouble.String())
	}
	records := p.records()
	dec := json.NewDecoder(&out)
	for i := range urls {
		var checked record
		if err := dec.Decode(&checked); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"url", "agent", "verdict", "reason", "group", "rule", "line", "profile"} {
			if checked[key] != records[i][key] {
				t.Errorf("%s: %s is %v to check and %v to the proxy", urls[i], key, checked[key], records[i][key])
			}
		}
	}
}
