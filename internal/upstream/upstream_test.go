package upstream

import (
	"context"
	"errors"
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
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDenied = errors.New("denied")

// onlyFirst allows 127.0.0.1 and what is not loopback.
func onlyFirst(a netip.AddrPort) error {
	if a.Addr().IsLoopback() && a.Addr() != netip.MustParseAddr("127.0.0.1") {
		return errDenied
	}
	return nil
}

func TestChoice(t *testing.T) {
	env := map[string]string{"HTTP_PROXY": "upper.example:1", "http_proxy": "http://u:p@lower.example:3128", "HTTPS_PROXY": "socks5://s.example:1080", "no_proxy": "direct.example"}
	p, err := New(Options{Proxy: "env", Getenv: func(name string) string { return env[name] }, Check: onlyFirst})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"http://a.example/": "lower.example:3128", "https://a.example/": "s.example:1080", "https://direct.example/": "", "http://127.0.0.1/": "",
	} {
		u, _ := url.Parse(target)
		got, err := p.For(u)
		if err != nil || (got == nil) != (want == "") || got != nil && got.address != want {
			t.Errorf("%s: %+v %v, want %q", target, got, err, want)
		}
	}
	for _, none := range []*Proxies{nil, {}} {
		if got, err := none.For(&url.URL{Scheme: "http", Host: "a.example"}); got != nil || err != nil {
			t.Errorf("no proxies choose %v, %v", got, err)
		}
	}
	for _, bad := range []string{"ftp://u:secret@h.example", "http://", "http://u:secret@h.example:x"} {
		if _, err := New(Options{Proxy: bad, Check: onlyFirst}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func single(t *testing.T, setting string, change ...func(*Options)) *Proxy {
	t.Helper()
	o := Options{Proxy: setting, Check: onlyFirst, Timeout: 2 * time.Second}
	for _, c := range change {
		c(&o)
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p.All()[0]
}

func TestLiteralsAreJudgedBehindAnHTTPProxy(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked++; w.WriteHeader(407) }))
	defer s.Close()
	p := single(t, "http://user:secret@"+s.Listener.Addr().String())
	for _, host := range []string{"127.0.0.2", "[::1]"} {
		if _, err := p.DialContext(context.Background(), "tcp", host+":80"); !errors.Is(err, errDenied) {
			t.Errorf("%s: %v", host, err)
		}
		if err := p.CheckURL(&url.URL{Scheme: "http", Host: host}); !errors.Is(err, errDenied) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if asked != 0 {
		t.Errorf("the proxy was asked %d times", asked)
	}
	deny := single(t, "http://"+s.Listener.Addr().String(), func(o *Options) { o.Check = func(netip.AddrPort) error { return errDenied } })
	for _, host := range []string{"localhost", "LOCALHOST", "localhost.", "a.localhost"} {
		if err := deny.CheckURL(&url.URL{Scheme: "https", Host: host}); !errors.Is(err, errDenied) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if err := deny.CheckURL(&url.URL{Scheme: "https", Host: "name.example"}); err != nil {
		t.Errorf("a name that is resolved elsewhere: %v", err)
	}
	_, err := p.DialContext(context.Background(), "tcp", "name.example:443")
	var refused *Error
	if !errors.As(err, &refused) || refused.Status != 407 || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("error %v", err)
	}
}

func TestHeedIsNotItsOwnUpstream(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, scheme := range []string{"http", "https", "socks5"} {
		p := single(t, scheme+"://"+l.Addr().String(), func(o *Options) { o.Own = func(netip.AddrPort) error { return errDenied } })
		if _, err := p.DialContext(context.Background(), "tcp", "192.0.2.1:80"); !errors.Is(err, errDenied) && !strings.Contains(fmt.Sprint(err), "denied") {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

// A name that answers differently the second time gains nothing: the SOCKS proxy
// gets the address that was judged.
func TestRebindingBehindSocks(t *testing.T) {
	var mu sync.Mutex
	answers := [][]byte{{127, 0, 0, 1}, {127, 0, 0, 2}}
	serveNames(t, func() []byte {
		mu.Lock()
		defer mu.Unlock()
		a := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		return a
	})
	got := make(chan []byte, 4)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			request := make([]byte, 10)
			_, _ = io.ReadFull(c, request[:3]) // one method: none
			_, _ = c.Write([]byte{5, 0})
			_, _ = io.ReadFull(c, request)
			got <- request
			_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
			_ = c.Close()
		}
	}()
	defer func() { l.Close(); <-served }()
	p := single(t, "socks5://"+l.Addr().String())
	conn, err := p.DialContext(context.Background(), "tcp", "site.example:80")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := conn.(*net.TCPConn); !ok {
		t.Errorf("a %T cannot be spliced", conn)
	}
	_ = conn.Close()
	if r := <-got; r[3] != 1 || net.IP(r[4:8]).String() != "127.0.0.1" {
		t.Errorf("the proxy was given %v", r)
	}
	if _, err := p.DialContext(context.Background(), "tcp", "site.example:80"); !errors.Is(err, errDenied) {
		t.Errorf("the second time: %v", err)
	}
	if len(got) != 0 {
		t.Error("the proxy was asked for an address that is denied")
	}
}

// serveNames answers each question for an IPv4 address.
func serveNames(t *testing.T, next func() []byte) {
	t.Helper()
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
			_, _ = server.WriteTo(answer(buf[:n], next), from)
		}
	}()
	old := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = old
		server.Close()
		<-done
	})
}

// answer makes a DNS response (RFC 1035 4) to a query with one question.
func answer(query []byte, next func() []byte) []byte {
	end := 12
	for query[end] != 0 {
		end += 1 + int(query[end])
	}
	out := append([]byte(nil), query[:end+5]...)
	out[2], out[3] = 0x81, 0x80
	copy(out[4:12], []byte{0, 1, 0, 0, 0, 0, 0, 0})
	if query[end+2] != 1 {
		return out
	}
	out[7] = 1
	return append(append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), next()...)
}
