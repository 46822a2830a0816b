package proxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"heed/internal/ca"
	"heed/internal/netguard"
	"heed/policy"
	"heed/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// robots is a Source that knows the same robots.txt for every origin, and
// another one for some.
type robots struct {
	all string
	of  map[string]string
}

func (r robots) Access(_ context.Context, o policy.Origin) (policy.Access, error) {
	text, ok := r.of[o.String()]
	if !ok {
		text = r.all
	}
	return policy.Access{
		Result: policy.Successful, Robots: policy.Parse([]byte(text)), URL: o.RobotsURL(), Status: 200,
	}, nil
}

// sourceFunc makes a Source of a function.
type sourceFunc func(context.Context, policy.Origin) (policy.Access, error)

func (f sourceFunc) Access(ctx context.Context, o policy.Origin) (policy.Access, error) {
	return f(ctx, o)
}

// disallowPrivate is the robots.txt of most tests; the rule is its second line.
const disallowPrivate = "User-agent: *\nDisallow: /private/\n"

// heed is a running proxy and what it recorded.
type heed struct {
	t     testing.TB
	proxy *proxy.Proxy
	addr  string
	ca    *ca.Authority

	mu      sync.Mutex
	records []proxy.Record
}

// start runs a proxy that may dial loopback and trusts the origins given.
func start(t testing.TB, source proxy.Source, origins []*httptest.Server, change ...func(*proxy.Options)) *heed {
	t.Helper()
	return startOn(t, func(l net.Listener) net.Listener { return l }, source, origins, change...)
}

// startOn is start with a listener of the caller's own making.
func startOn(t testing.TB, listener func(net.Listener) net.Listener, source proxy.Source, origins []*httptest.Server, change ...func(*proxy.Options)) *heed {
	t.Helper()
	h := &heed{t: t}
	var err error
	if h.ca, err = ca.Open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	for _, o := range origins {
		if o.TLS != nil {
			roots.AddCert(o.Certificate())
		}
	}
	guard := netguard.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}, nil)
	guarded := guard.DialContext(2 * time.Second)
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		// Names of tests lead to loopback, as a resolver would have it.
		if host, port, _ := net.SplitHostPort(address); strings.HasSuffix(host, ".example") {
			address = net.JoinHostPort("127.0.0.1", port)
		}
		return guarded(ctx, network, address)
	}
	transport := proxy.NewTransport(proxy.TransportOptions{
		Dial: dial, TLS: &tls.Config{RootCAs: roots}, ResponseHeaderTimeout: 2 * time.Second, TLSHandshakeTimeout: 2 * time.Second,
	})
	o := proxy.Options{
		Decider: proxy.Decider{
			Source:   source,
			Settings: policy.Settings{Tokens: []string{"testbot"}, OnUnavailable: policy.Allow},
		},
		Transport: transport, Dial: dial, Leaf: h.ca.Leaf, HTTP2: true,
		HeaderTimeout: 5 * time.Second, TunnelPolicy: proxy.TunnelUnrestricted,
		OnRecord: func(r *proxy.Record) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.records = append(h.records, *r)
		},
	}
	for _, c := range change {
		c(&o)
	}
	if h.proxy, err = proxy.New(o); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.addr = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- h.proxy.Serve(listener(l)) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
		defer cancel()
		if err := h.proxy.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		transport.CloseIdleConnections()
	})
	return h
}

// client returns a client that goes through the proxy and trusts its CA. Each
// has connections of its own.
func (h *heed) client(http2 bool) *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(h.ca.PEM())
	tr := &http.Transport{
		Proxy:              http.ProxyURL(&url.URL{Scheme: "http", Host: h.addr}),
		TLSClientConfig:    &tls.Config{RootCAs: roots},
		ForceAttemptHTTP2:  http2,
		DisableCompression: true,
	}
	h.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{
		Transport:     tr,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       10 * time.Second,
	}
}

// get returns status and body.
func get(t *testing.T, c *http.Client, url string) (*http.Response, string) {
	t.Helper()
	res, err := c.Get(url)
	if err != nil {
		t.Fatalf("GET %s: %v", url, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("GET %s: %v", url, err)
	}
	return res, string(body)
}

// wait returns the records once there are n, and fails when more come or not enough.
func (h *heed) wait(n int) []proxy.Record {
	h.t.Helper()
	deadline := time.Now().Add(3 * time.Second)
	for {
		h.mu.Lock()
		got := append([]proxy.Record(nil), h.records...)
		h.mu.Unlock()
		if len(got) == n {
			return got
		}
		if len(got) > n || time.Now().After(deadline) {
			for _, r := range got {
				h.t.Logf("record: %s %s %s %s %s %d %s", r.Event, r.Method, r.URL, r.Decision.Verdict, r.Decision.Reason, r.Status, r.Err)
			}
			h.t.Fatalf("%d records, want %d", len(got), n)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// dialRaw connects to the proxy.
func (h *heed) dialRaw() net.Conn {
	h.t.Helper()
	c, err := net.Dial("tcp", h.addr)
	if err != nil {
		h.t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	h.t.Cleanup(func() { _ = c.Close() })
	return c
}

// raw sends text to the proxy and returns the answer to it as a request of the method given.
func (h *heed) raw(method, text string) *http.Response {
	h.t.Helper()
	return exchangeRaw(h.t, h.dialRaw(), method, text)
}

func exchangeRaw(t testing.TB, c net.Conn, method, text string) *http.Response {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("answer to %q: %v", text, err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("answer to %q: %v", text, err)
	}
	res.Body = io.NopCloser(strings.NewReader(string(body)))
	return res
}

// tunnel opens a CONNECT and returns the connection after the 200.
func (h *heed) tunnel(authority string) net.Conn {
	h.t.Helper()
	c := h.dialRaw()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority)
	line, err := readHead(c)
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 200 ") {
		h.t.Fatalf("CONNECT %s: %q %v", authority, line, err)
	}
	return c
}

// readHead reads octet by octet up to the empty line, so that nothing is read ahead.
func readHead(c net.Conn) (string, error) {
	var head []byte
	for !strings.HasSuffix(string(head), "\r\n\r\n") {
		b := make([]byte, 1)
		if _, err := c.Read(b); err != nil {
			return string(head), err
		}
		head = append(head, b...)
	}
	return string(head), nil
}

// origins returns an http and an https server with one handler; the latter
// speaks HTTP/2.
func origins(t testing.TB, handler http.HandlerFunc) (plain, secure *httptest.Server) {
	plain = httptest.NewServer(handler)
	secure = httptest.NewUnstartedServer(handler)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	return plain, secure
}

// path is one of the ways in which a request can travel.
type path struct {
	name   string
	secure bool
	http2  bool
}

var paths = []path{{"plain", false, false}, {"intercepted HTTP/1.1", true, false}, {"intercepted HTTP/2", true, true}}

// bodyErr drains a response and returns how its body ended.
func bodyErr(res *http.Response) error {
	defer res.Body.Close()
	_, err := io.Copy(io.Discard, res.Body)
	return err
}

type ctx = context.Context
