package proxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"heed/internal/ca"
	"heed/policy"
	"heed/proxy"
)

// FuzzNoVerdictIsEscaped sends requests of any spelling, in the open, inside a
// tunnel and over HTTP/2. Whenever an origin is asked for a path, robots.txt of
// that very origin allows the path, and a record says so.
func FuzzNoVerdictIsEscaped(f *testing.F) {
	for _, host := range []string{"a.example", "open.example", "A.EXAMPLE", "a.example.", "[a.example]", "[::1]", "a.example:80", "a.example:443", "a.example:",
		"user@a.example", "open.example@a.example", "a.example\\@open.example", "a.example#@open.example", "a%2eexample", "a..example", "0x7f.1", "", " a.example",
		"a.example\t", "a.example, open.example", "\u00e4.example", "a.example:443:80", "a.example/../b"} {
		f.Add("http://"+host+"/private/x", host, "", uint8(0))
		f.Add("/private/x", host, "Host: open.example\r\n", uint8(1))
		f.Add("/private/x", host, "", uint8(2))
		f.Add("https://"+host+"/private/x", "a.example", "X: y\r\n", uint8(1))
	}
	for _, path := range []string{"/private", "/priv%61te/x", "/%70rivate/x", "//private/x", "/x/../private/x", "/x/..%2fprivate/x", "/./private/x", "/private%2Fx",
		"/PRIVATE/x", "/private\t/x", "/x#/../private", "/x?/../private", "/private?x", "/priv\x00ate", "/priv|ate", "/private\\x", "/%zz/private", "*", "private/x", "?private",
		"https:/private/x", "https:private/x", "//a.example/private/x", "///private/x", "/;/private/x", "/private;x"} {
		f.Add("http://a.example"+path, "a.example", "", uint8(0))
		f.Add(path, "a.example", "", uint8(1))
		f.Add(path, "a.example", "", uint8(2))
	}
	for _, field := range []string{"Host: open.example\r\n", "host : open.example\r\n", "X-Forwarded-Host: open.example\r\n", "X-Original-URL: /private/x\r\n",
		"Connection: Host\r\n", "Host:\topen.example\r\n", "X: y\r\n Host: open.example\r\n", "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAAA\r\n"} {
		f.Add("/private/x", "a.example", field, uint8(1))
		f.Add("http://a.example/private/x", "open.example", field, uint8(0))
		f.Add("/x", "a.example", field, uint8(2))
	}
	w := newEscape(f)
	f.Fuzz(func(t *testing.T, target, host, fields string, way uint8) {
		text := "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "Connection: close\r\n\r\n"
		switch c := w.client(t, way%3); {
		case c == nil:
		case way%3 == 2:
			sendH2(c, target, host, strings.TrimPrefix(strings.TrimSpace(fields), "Host: "))
		default:
			_, _ = io.WriteString(c, text)
			_, _ = io.Copy(io.Discard, c)
		}
		w.check(t)
	})
}

// escape is a world in which every name leads to an origin, which notes under which
// name it was reached and what it was asked for. open.example disallows nothing,
// all others /private.
type escape struct {
	h        *heed
	leaf     func(names ...string) (*tls.Certificate, error)
	mu       sync.Mutex
	contacts []contact
	carried  map[string]int // records that say a URL was allowed
}

type contact struct{ scheme, address, host, target string }

func newEscape(f *testing.F) *escape {
	authority, err := ca.Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	w := &escape{carried: map[string]int{}, leaf: authority.Leaf}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM())
	transport := proxy.NewTransport(proxy.TransportOptions{TLS: &tls.Config{RootCAs: roots}, Dial: func(_ context.Context, _, address string) (net.Conn, error) {
		here, there := net.Pipe()
		go w.accept(there, address)
		return here, nil
	}})
	f.Cleanup(transport.CloseIdleConnections)
	w.h = start(f, sourceFunc(w.access), nil, func(o *proxy.Options) {
		o.Transport = transport
		o.OnRecord = func(r *proxy.Record) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if r.Decision.Allowed() {
				w.carried[r.URL]++
			}
		}
	})
	return w
}

func (w *escape) access(_ ctx, o policy.Origin) (policy.Access, error) {
	return policy.Access{Result: policy.Successful, Robots: policy.Parse([]byte(robotsOf(o))), URL: o.RobotsURL(), Status: 200}, nil
}

func robotsOf(o policy.Origin) string {
	if o.Host == "open.example" {
		return ""
	}
	return "User-agent: *\nDisallow: /private\n"
}

// accept serves a connection as https where it begins like that, and as http.
func (w *escape) accept(c net.Conn, address string) {
	defer c.Close()
	br := bufio.NewReader(c)
	first, err := br.Peek(1)
	if err != nil {
		return
	}
	at := contact{scheme: "http", address: address}
	if first[0] == 0x16 {
		host, _, _ := net.SplitHostPort(address)
		leaf, err := w.leaf(host)
		if err != nil {
			return
		}
		s := tls.Server(readAhead{c, br}, &tls.Config{Certificates: []tls.Certificate{*leaf}})
		defer s.Close()
		at.scheme, br = "https", bufio.NewReader(s)
		c = s
	}
	w.origin(c, br, at)
}

// readAhead is a connection of which something was read already.
type readAhead struct {
	net.Conn
	r io.Reader
}

func (c readAhead) Read(b []byte) (int, error) { return c.r.Read(b) }

// origin takes whatever comes for a request.
func (w *escape) origin(c net.Conn, br *bufio.Reader, at contact) {
	for {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		at.host, at.target = r.Host, r.RequestURI
		w.mu.Lock()
		w.contacts = append(w.contacts, at)
		w.mu.Unlock()
		_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
	}
}

// client connects in the open (0), in a tunnel over HTTP/1.1 (1) or HTTP/2 (2).
func (w *escape) client(t *testing.T, way uint8) net.Conn {
	c, err := net.Dial("tcp", w.h.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Second)) // what heed waits for may never come
	if way == 0 {
		return c
	}
	_, _ = io.WriteString(c, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n")
	if _, err := readHead(c); err != nil {
		return nil
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.h.ca.PEM())
	s := tls.Client(c, &tls.Config{RootCAs: roots, ServerName: "a.example", NextProtos: []string{[]string{"http/1.1", "h2"}[way-1]}})
	if s.Handshake() != nil {
		return nil
	}
	return s
}

// sendH2 asks for a path over HTTP/2 and waits until the stream has ended.
func sendH2(c net.Conn, path, authority, host string) {
	_, _ = io.WriteString(c, http2.ClientPreface)
	fr := http2.NewFramer(c, c)
	_ = fr.WriteSettings()
	var block strings.Builder
	enc := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":path", path}, {":authority", authority}, {"host", host}} {
		if f[1] != "" {
			_ = enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
	}
	_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte(block.String()), EndStream: true, EndHeaders: true})
	for {
		frame, err := fr.ReadFrame()
		if err != nil || frame.Header().StreamID == 1 && (frame.Header().Flags.Has(http2.FlagDataEndStream) || frame.Header().Type == http2.FrameRSTStream) ||
			frame.Header().Type == http2.FrameGoAway {
			return
		}
	}
}

// check judges what origins were asked for, and waits for the records of it.
func (w *escape) check(t *testing.T) {
	w.mu.Lock()
	contacts := w.contacts
	w.contacts = nil
	w.mu.Unlock()
	for _, c := range contacts {
		o, err := policy.ParseOrigin(c.scheme, c.address)
		if err != nil || c.host != o.Authority() {
			t.Fatalf("%+v: Host is not what was dialled; %v", c, err)
		}
		path := strings.TrimPrefix(c.target, c.scheme+"://"+c.host) // absolute where a path begins with //
		if path == "*" {
			path = "/"
		}
		target := policy.Target{Origin: o, Path: path}
		if d := policy.Parse([]byte(robotsOf(o))).Decide([]string{"testbot"}, target); !d.Allowed() {
			t.Fatalf("%+v is disallowed: %+v", c, d)
		}
		for deadline := time.Now().Add(10 * time.Second); !w.recorded(target.String()); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%+v: no record says that %s was allowed", c, target)
			}
		}
	}
}

func (w *escape) recorded(url string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.carried[url] == 0 {
		return false
	}
	if w.carried[url]--; w.carried[url] == 0 {
		delete(w.carried, url)
	}
	return true
}
