package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"heed/internal/ca"
	"heed/internal/testtool"
	"heed/proxy"
)

// public is an address that may be dialled without being named.
const public = "9.9.9.9"

// classes is a network in which addresses of every class are a site's.
type classes struct {
	t            *testing.T
	dir          string
	target       atomic.Value // string, the literal that is tried
	plain        string       // ports
	secure       string
	away         string // port where /robots.txt leads to the target
	socks, chain string // upstream proxies
	names        int    // given out by turning
}

// The paths that lead to an address, and how each is tried on a heed: the answer,
// with its body. literal is in brackets where it has to be.
var classPaths = []struct {
	name   string
	egress string // proxy
	mode   string // of https
	ask    func(c *classes, heed, literal string) (*http.Response, error)
}{
	{"literal", "", "intercept", func(c *classes, h, l string) (*http.Response, error) {
		return c.get(h, "http://"+l+":"+c.plain+"/", false)
	}},
	{"literal, intercepted", "", "intercept", func(c *classes, h, l string) (*http.Response, error) {
		return c.get(h, "https://"+l+":"+c.secure+"/", false)
	}},
	{"WebSocket", "", "intercept", func(c *classes, h, l string) (*http.Response, error) {
		return c.get(h, "http://"+l+":"+c.plain+"/", true)
	}},
	{"WebSocket, intercepted", "", "intercept", func(c *classes, h, l string) (*http.Response, error) {
		return c.get(h, "https://"+l+":"+c.secure+"/", true)
	}},
	{"CONNECT", "", "tunnel", func(c *classes, h, l string) (*http.Response, error) { return c.connect(h, l+":"+c.secure) }},
	{"name", "", "intercept", func(c *classes, h, _ string) (*http.Response, error) {
		return c.get(h, "http://site.example:"+c.plain+"/", false)
	}},
	{"name, intercepted", "", "intercept", func(c *classes, h, _ string) (*http.Response, error) {
		return c.get(h, "https://site.example:"+c.secure+"/", false)
	}},
	{"name that leads elsewhere the second time", "", "intercept", func(c *classes, h, _ string) (*http.Response, error) {
		return c.get(h, "http://"+c.turning()+":"+c.plain+"/", false)
	}},
	{"name that leads elsewhere the second time, CONNECT", "", "tunnel", func(c *classes, h, _ string) (*http.Response, error) {
		return c.connect(h, c.turning()+":"+c.secure)
	}},
	{"redirect of robots.txt", "", "intercept", func(c *classes, h, _ string) (*http.Response, error) {
		return c.get(h, "http://"+public+":"+c.away+"/", false)
	}},
	{"literal through SOCKS", "socks", "intercept", func(c *classes, h, l string) (*http.Response, error) {
		return c.get(h, "http://"+l+":"+c.plain+"/", false)
	}},
	{"name through SOCKS", "socks", "intercept", func(c *classes, h, _ string) (*http.Response, error) {
		return c.get(h, "https://site.example:"+c.secure+"/", false)
	}},
	{"CONNECT through SOCKS", "socks", "tunnel", func(c *classes, h, l string) (*http.Response, error) { return c.connect(h, l+":"+c.secure) }},
	{"literal through HTTP", "chain", "intercept", func(c *classes, h, l string) (*http.Response, error) {
		return c.get(h, "http://"+l+":"+c.plain+"/", false)
	}},
	{"CONNECT through HTTP", "chain", "tunnel", func(c *classes, h, l string) (*http.Response, error) { return c.connect(h, l+":"+c.secure) }},
}

// Every class of addresses is refused on every path, and reached on it when
// egress.allow has the one CIDR that names it. What this machine has no address of
// is dialled then, in vain.
func TestEveryClassOfAddressesOnEveryPath(t *testing.T) {
	if !alone(t) {
		return
	}
	c := newClasses(t)
	reached, dialled := 0, 0
	for _, class := range testtool.Special {
		addr := netip.MustParseAddr(class.Addr)
		literal := class.Addr
		if addr.Is6() {
			literal = "[" + literal + "]"
		}
		c.target.Store(literal)
		answers := c.answers(literal)
		for _, allow := range []string{"", class.CIDR} {
			heeds := map[string]running{}
			for _, path := range classPaths {
				h, ok := heeds[path.egress+path.mode]
				if !ok {
					h = c.heed(allow, path.egress, path.mode)
					heeds[path.egress+path.mode] = h
				}
				what := fmt.Sprintf("%s %s by %s, egress.allow [%s]", class.Class, class.Addr, path.name, allow)
				res, err := path.ask(c, h.addr, literal)
				switch {
				case err != nil:
					t.Errorf("%s: %v", what, err)
				case allow == "":
					c.refused(what, path.name, res)
				case answers:
					reached++
					c.reached(what, path.name, addr, res)
				default:
					dialled++
					c.dialled(what, res)
				}
			}
			for _, h := range heeds {
				h.end()
			}
		}
	}
	t.Logf("%d paths of %d classes refused; allowed, %d reached and %d dialled in vain", len(testtool.Special)*len(classPaths), len(testtool.Special), reached, dialled)
	if reached < 20*len(classPaths) {
		t.Errorf("only %d paths led anywhere", reached)
	}
}

func newClasses(t *testing.T) *classes {
	t.Helper()
	if err := ip(t, "link", "set", "lo", "up"); err != nil {
		t.Fatal(err)
	}
	giveAddress(t, netip.MustParseAddr(public))
	for _, class := range testtool.Special {
		giveAddress(t, netip.MustParseAddr(class.Addr))
	}
	c := &classes{t: t, dir: t.TempDir()}
	c.target.Store("")
	authority, err := ca.Open(filepath.Join(c.dir, "sites"))
	if err == nil {
		err = os.WriteFile(filepath.Join(c.dir, "roots.pem"), authority.PEM(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.plain, c.away = c.serve(nil, false), c.serve(nil, true)
	c.secure = c.serve(&tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		name := hello.ServerName
		if name == "" {
			name = strings.Trim(c.target.Load().(string), "[]")
		}
		return authority.Leaf(name)
	}}, false)
	c.socks = "socks5://" + startSocks(t, new(atomic.Int64), false)
	c.chain = startUpstream(t, "http", nil, false).url("")
	(&resolver{answer: func(name string, asked int) netip.Addr {
		if strings.HasPrefix(name, "turn") && asked == 0 {
			return netip.MustParseAddr(public)
		}
		return netip.MustParseAddr(strings.Trim(c.target.Load().(string), "[]")).Unmap()
	}}).start(t)
	return c
}

// serve runs a site on all addresses, which says where it was reached. Each
// request takes a connection of its own, so that each name is resolved again.
func (c *classes) serve(config *tls.Config, away bool) (port string) {
	c.t.Helper()
	l, err := net.Listen("tcp", "[::]:0")
	if err != nil {
		c.t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local := r.Context().Value(http.LocalAddrContextKey).(net.Addr).(*net.TCPAddr).AddrPort().Addr().Unmap().WithZone("")
		if r.Header.Get("Upgrade") != "" {
			echo(w)
			return
		}
		w.Header().Set("Connection", "close")
		w.Header().Set("Reached", local.String())
		if away && r.URL.Path == "/robots.txt" {
			http.Redirect(w, r, "http://"+c.target.Load().(string)+":"+c.plain+"/robots.txt", http.StatusFound)
		}
	}))
	s.Listener = l
	if config != nil { // StartTLS would add a certificate of its own
		s.Listener = tls.NewListener(l, config)
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	c.t.Cleanup(s.Close)
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// answers reports whether the site is there at all.
func (c *classes) answers(literal string) bool {
	conn, err := net.DialTimeout("tcp", literal+":"+c.plain, 5*time.Second)
	if err != nil {
		c.t.Logf("not reached on this machine: %v", err)
		return false
	}
	_ = conn.Close()
	return true
}

// heed runs one that may dial what allow names.
func (c *classes) heed(allow, egress, mode string) running {
	c.t.Helper()
	file := filepath.Join(c.dir, "config.yaml")
	text := fmt.Sprintf("listen: 127.0.0.1:0\nadmin: {listen: \"\"}\naudit: {path: \"\"}\nhttps: {mode: %s, ca_dir: %s}\negress: {allow: [%q], proxy: %q, ca_file: %s}\n",
		mode, filepath.Join(c.dir, "ca"), allow, map[string]string{"socks": c.socks, "chain": c.chain}[egress], filepath.Join(c.dir, "roots.pem"))
	if err := os.WriteFile(file, []byte(strings.Replace(text, `[""]`, "[]", 1)), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return serveFile(c.t, file, func(*proxy.Record) {})
}
