package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"heed/fetch"
	"heed/internal/config"
	"heed/internal/netguard"
	"heed/internal/testtool"
	"heed/policy"
)

// What the proxy dials for clients, robots.txt files and SOCKS proxies alike: no
// class of address is reached by a name, by a redirect of robots.txt, or behind
// another proxy.
func TestNoClassOfAddressesIsReachedAnotherWay(t *testing.T) {
	var target atomic.Value
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://"+target.Load().(string)+":9/robots.txt")
		w.WriteHeader(http.StatusFound)
	}))
	defer site.Close()
	u, _ := url.Parse(site.URL)
	origin, err := policy.ParseOrigin("http", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	upstream := newSilentUpstream(t)
	direct := reachThrough(t, "")
	socks := reachThrough(t, "socks5://"+upstream.addr)
	chained := reachThrough(t, "http://"+upstream.addr)
	for _, c := range testtool.Special {
		addr := netip.MustParseAddr(c.Addr)
		literal := addr.String()
		if addr.Is6() {
			literal = "[" + literal + "]"
		}
		serveName(t, addr)
		for way, dial := range map[string]func() error{
			"a name":                       func() error { return dialed(direct.dial, "site.example:9") },
			"a literal through SOCKS":      func() error { return dialed(socks.dial, literal+":9") },
			"a name through SOCKS":         func() error { return dialed(socks.dial, "site.example:9") },
			"a tunnel through HTTP":        func() error { return dialed(chained.dial, literal+":9") },
			"a plain request through HTTP": func() error { return asked(chained, "http://"+literal+":9/") },
			"a request through SOCKS":      func() error { return asked(socks, "https://site.example:9/") },
		} {
			var denied *netguard.DeniedError
			if err := dial(); !errors.As(err, &denied) {
				t.Errorf("%s, %s by %s: %v", c.Class, c.Addr, way, err)
			}
		}
		target.Store(literal)
		store := fetch.New(storeOptions(direct.config, direct.transport, slog.New(slog.DiscardHandler)))
		a, err := store.Access(t.Context(), origin)
		store.Close()
		if err != nil || a.Result != policy.Unreachable || a.EgressDenied || !strings.Contains(a.Cause, "egress.allow") {
			t.Errorf("%s, %s by a redirect of robots.txt: %+v %v", c.Class, c.Addr, a, err)
		}
	}
	if n := upstream.n.Load(); n != 0 {
		t.Errorf("the upstream proxy was asked %d times", n)
	}
}

// reachOf is a reach and the configuration that it was made of.
type reachOf struct {
	*reach
	config config.Config
}

// reachThrough may dial the site of the test and nothing else on loopback.
func reachThrough(t *testing.T, proxyURL string) reachOf {
	t.Helper()
	loaded, err := config.Load(config.Options{ReadFile: noFile, Environ: []string{"HEED_EGRESS_ALLOW=127.0.0.1", "HEED_EGRESS_PROXY=" + proxyURL}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := newReach(loaded.Config, env{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.transport.CloseIdleConnections)
	return reachOf{r, loaded.Config}
}

func dialed(dial dialFunc, address string) error {
	c, err := dial(context.Background(), "tcp", address)
	if err == nil {
		_ = c.Close()
	}
	return err
}

func asked(r reachOf, target string) error {
	req, err := http.NewRequest(http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	res, err := r.transport.RoundTrip(req)
	if err == nil {
		_ = res.Body.Close()
	}
	return err
}

// silentUpstream counts connections and says nothing.
type silentUpstream struct {
	addr string
	n    atomic.Int64
}

func newSilentUpstream(t *testing.T) *silentUpstream {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &silentUpstream{addr: l.Addr().String()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.n.Add(1)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return c
}

// serveName has every name lead to addr until the test ends, or the next call.
func serveName(t *testing.T, addr netip.Addr) {
	t.Helper()
	kind := byte(1)
	if addr.Is6() {
		kind = 28
	}
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = server.WriteTo(dnsAnswer(buf[:n], kind, addr.AsSlice()), from)
		}
	}()
	old := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = old
		_ = server.Close()
		<-done
	})
}

// dnsAnswer makes a response (RFC 1035 4) to a query with one question.
func dnsAnswer(query []byte, kind byte, data []byte) []byte {
	end := 12
	for query[end] != 0 {
		end += 1 + int(query[end])
	}
	out := append([]byte(nil), query[:end+5]...)
	out[2], out[3] = 0x81, 0x80
	copy(out[4:12], []byte{0, 1, 0, 0, 0, 0, 0, 0})
	if query[end+2] != kind {
		return out
	}
	out[7] = 1
	return append(append(out, 0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 0, 0, byte(len(data))), data...)
}
