package main

import (
	"bufio"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"heed/internal/ca"
)

// outgoing is where upstream proxies of these tests connect from, so that an
// origin can tell them from heed.
const outgoing = "127.0.0.3"

// upstreamUser and upstreamPassword are credentials that need escapes in a URL.
const (
	upstreamUser     = "proxy user"
	upstreamPassword = "p@ss:w%rd"
	upstreamUserinfo = "proxy%20user:p%40ss%3Aw%25rd@"
)

// chainSite is an origin that notes who connects to it.
type chainSite struct {
	*site
	mu   sync.Mutex
	from map[string]int
}

func newChainSite(t *testing.T, address string, secure bool, robots string) *chainSite {
	c := &chainSite{from: map[string]int{}}
	c.site = newSiteAt(t, address, secure, true, robots, func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		if _, ok := outgoingConns.Load(r.RemoteAddr); ok {
			host = outgoing
		}
		c.mu.Lock()
		c.from[host]++
		c.mu.Unlock()
		if r.Header.Get("Proxy-Authorization") != "" {
			t.Errorf("%s: the origin got the proxy's credentials", r.URL)
		}
		switch {
		case r.URL.Path == "/robots.txt":
			_, _ = io.WriteString(w, robots)
		case r.Header.Get("Upgrade") != "":
			echo(w)
		default:
			fmt.Fprintf(w, "%s %s", r.Method, r.RequestURI)
		}
	})
	return c
}

// echo answers as a WebSocket and sends a line back.
func echo(w http.ResponseWriter) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	line, _ := rw.ReadString('\n')
	_, _ = io.WriteString(conn, line)
}

// seen returns the addresses that the origin was asked from.
func (c *chainSite) seen() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from
}

// upstreamTLS is a certificate for an upstream proxy, and the file of its CA.
func upstreamTLS(t *testing.T) (*tls.Certificate, []byte) {
	t.Helper()
	authority, err := ca.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := authority.Leaf("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return leaf, authority.PEM()
}

// rootsFile holds the certificates of sites and more.
func rootsFile(t *testing.T, more []byte, sites ...*chainSite) string {
	t.Helper()
	for _, s := range sites {
		if c := s.Certificate(); c != nil {
			more = append(more, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
		}
	}
	file := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(file, more, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// chain is an upstream proxy that is under way.
type chain struct {
	scheme, addr string
	connections  func() int
	targets      *sync.Map // of proxies that keep them; may be nil
}

func (c chain) url(userinfo string) string { return c.scheme + "://" + userinfo + c.addr }

// Every path leads through the upstream proxy, whatever its kind, and the origin
// is asked by nobody else.
func TestEveryPathLeadsThroughTheUpstreamProxy(t *testing.T) {
	for _, kind := range []string{"http", "https", "socks5", "squid http", "squid https"} {
		for _, credentials := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, credentials %v", kind, credentials), func(t *testing.T) {
				leaf, authority := upstreamTLS(t)
				var up chain
				if program, scheme, ok := strings.Cut(kind, " "); ok && program == "squid" {
					up = startSquid(t, scheme, leaf, credentials)
				} else {
					up = startUpstream(t, kind, leaf, credentials)
				}
				everyPath(t, up, "127.0.0.1", authority, credentials)
			})
		}
	}
}

// An IPv6 target stays in its brackets, on every path and through every kind of
// upstream proxy.
func TestIPv6TargetsThroughTheUpstreamProxy(t *testing.T) {
	for _, kind := range []string{"http", "https", "socks5", "squid http"} {
		t.Run(kind, func(t *testing.T) {
			leaf, authority := upstreamTLS(t)
			var up chain
			if kind == "squid http" {
				up = startSquid(t, "http", leaf, false)
			} else {
				up = startUpstream(t, kind, leaf, false)
			}
			everyPath(t, up, "::1", authority, false)
			targets := 0
			if up.targets != nil {
				up.targets.Range(func(target, _ any) bool {
					targets++
					if text := target.(string); !strings.HasPrefix(text, "[::1]:") && !strings.HasPrefix(text, "http://[::1]:") {
						t.Errorf("the upstream proxy was asked for %q", text)
					}
					return true
				})
			}
			if strings.HasPrefix(kind, "http") && targets < 5 {
				t.Errorf("the upstream proxy was asked for %d targets", targets)
			}
		})
	}
}

// everyPath asks sites at an address in every way.
func everyPath(t *testing.T, up chain, address string, authority []byte, credentials bool) {
	plain, secure, pinned := newChainSite(t, address, false, "User-agent: *\nDisallow: /no\n"), newChainSite(t, address, true, ""), newChainSite(t, address, true, "")
	userinfo := map[bool]string{true: upstreamUserinfo}[credentials]
	p := startProcess(t, nil, "HEED_EGRESS_PROXY="+up.url(userinfo), "HEED_HTTPS_TUNNEL_HOSTS="+pinned.Listener.Addr().String(),
		"HEED_LIMITS_SHUTDOWN_GRACE=2s", "HEED_EGRESS_ALLOW=127.0.0.0/8,::1", "HEED_EGRESS_CA_FILE="+rootsFile(t, authority, plain, secure, pinned))
	for _, http2 := range []bool{false, true} {
		c := p.client(http2)
		for _, s := range []*chainSite{plain, secure} {
			for _, path := range []string{"/a?b=%7e", "//double", "/a%2Fb"} {
				if got, err := fetchURL(c, s.URL+path); err != nil || got.status != 200 || got.body != "GET "+path {
					t.Errorf("%s%s: %v %v", s.URL, path, got, err)
				}
			}
		}
		if got, err := fetchURL(c, plain.URL+"/no"); err != nil || got.status != 403 {
			t.Errorf("disallowed: %v %v", got, err)
		}
	}
	host := plain.Listener.Addr().String()
	if got := rawAnswer(t, p.addr, "OPTIONS http://"+host+" HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n"); !strings.Contains(got, "200 OK") {
		t.Errorf("OPTIONS of the server: %q", got)
	}
	webSocket(t, p, plain, false)
	webSocket(t, p, secure, true)
	tunnelled(t, p, pinned)
	for name, s := range map[string]*chainSite{"plain": plain, "secure": secure, "pinned": pinned} {
		if s.count("/robots.txt") != 1 {
			t.Errorf("%s: robots.txt was asked for %d times", name, s.count("/robots.txt"))
		}
		for from, n := range s.seen() {
			// squid has one address of IPv6 to connect from, which is heed's, too.
			if squid := up.targets == nil; from != outgoing && (from != "::1" || !squid) {
				t.Errorf("%s: %d requests came from %s, not from the upstream proxy", name, n, from)
			}
		}
	}
	if up.connections() == 0 {
		t.Error("the upstream proxy counted no connection")
	}
	for _, r := range p.records() {
		if text := fmt.Sprint(r); strings.Contains(text, "p@ss") || strings.Contains(text, "p%40ss") {
			t.Errorf("credentials in the record %v", r)
		}
	}
	if strings.Contains(p.log(), "p@ss") || strings.Contains(p.log(), "p%40ss") {
		t.Errorf("credentials in the log:\n%s", p.log())
	}
}

func rawAnswer(t *testing.T, addr, request string) string {
	t.Helper()
	c := dialDeadline(t, addr)
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	all, _ := io.ReadAll(c)
	return string(all)
}

func dialDeadline(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	t.Cleanup(func() { c.Close() })
	return c
}

func webSocket(t *testing.T, p *process, s *chainSite, secure bool) {
	t.Helper()
	host := s.Listener.Addr().String()
	c, target := dialDeadline(t, p.addr), "http://"+host+"/ws"
	if secure {
		c, target = insideTunnel(t, p.addr, host), "/ws"
	}
	defer c.Close() // heed's end would wait for it
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", target, host)
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, nil)
	if err != nil || res.StatusCode != 101 {
		t.Errorf("WebSocket to %s: %v %v", s.URL, res, err)
		return
	}
	_, _ = io.WriteString(c, "hello\n")
	if line, err := r.ReadString('\n'); err != nil || line != "hello\n" {
		t.Errorf("WebSocket to %s: %q %v", s.URL, line, err)
	}
}

// insideTunnel is a TLS connection through heed, verified by nobody.
func insideTunnel(t *testing.T, proxyAddr, host string) net.Conn {
	t.Helper()
	c := dialDeadline(t, proxyAddr)
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host)
	head := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
	if _, err := io.ReadFull(c, head); err != nil || !strings.HasPrefix(string(head), "HTTP/1.1 200 ") {
		t.Fatalf("CONNECT %s: %q %v", host, head, err)
	}
	return tls.Client(c, &tls.Config{InsecureSkipVerify: true})
}

// tunnelled asks in a tunnel that heed does not look into.
func tunnelled(t *testing.T, p *process, s *chainSite) {
	t.Helper()
	host := s.Listener.Addr().String()
	c := insideTunnel(t, p.addr, host).(*tls.Conn)
	defer c.Close()
	fmt.Fprintf(c, "GET /pinned HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host)
	all, _ := io.ReadAll(c)
	if !strings.Contains(string(all), "GET /pinned") || !c.ConnectionState().PeerCertificates[0].Equal(s.Certificate()) {
		t.Errorf("tunnel to %s: %q", s.URL, all)
	}
}
