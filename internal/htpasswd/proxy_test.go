package htpasswd_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"heed/internal/ca"
	"heed/internal/htpasswd"
	"heed/policy"
	"heed/proxy"
)

// openSource has every origin allow everything.
type openSource struct{}

func (openSource) Access(_ context.Context, o policy.Origin) (policy.Access, error) {
	return policy.Access{Result: policy.Successful, Robots: policy.Parse(nil), URL: o.RobotsURL()}, nil
}

// port is a running proxy that asks for passwords.
type port struct {
	addr    string
	ran     *atomic.Int64 // runs of bcrypt
	records sync.Map      // requests by user: *atomic.Int64
}

// listen runs a proxy for users whose password is "secret".
func listen(t *testing.T, cost int, users ...string) *port {
	t.Helper()
	return listenTrusting(t, nil, cost, users...)
}

// listenTrusting is listen with roots for origins.
func listenTrusting(t *testing.T, roots *x509.CertPool, cost int, users ...string) *port {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), cost)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "users")
	text := ""
	for _, name := range users {
		text += name + ":" + string(hash) + "\n"
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	known, err := htpasswd.Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := ca.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &port{ran: htpasswd.Counted(known)}
	dial := new(net.Dialer).DialContext
	transport := proxy.NewTransport(proxy.TransportOptions{Dial: dial, TLS: &tls.Config{RootCAs: roots}})
	p, err := proxy.New(proxy.Options{
		Decider: proxy.Decider{Source: openSource{}}, Transport: transport, Dial: dial, Leaf: authority.Leaf, HTTP2: true,
		Authenticate: known.Check, HeaderTimeout: time.Minute,
		OnRecord: func(r *proxy.Record) {
			n, _ := h.records.LoadOrStore(r.User, new(atomic.Int64))
			n.(*atomic.Int64).Add(1)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.addr = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		transport.CloseIdleConnections()
	})
	return h
}

// requests returns how many records name one of the users.
func (h *port) requests(users ...string) (sum int64) {
	for _, user := range users {
		if n, ok := h.records.Load(user); ok {
			sum += n.(*atomic.Int64).Load()
		}
	}
	return sum
}

// client names itself in the proxy URL, as crawlers do.
func (h *port) client(user, password string) *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: h.addr, User: url.UserPassword(user, password)}),
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
}

// Ten thousand requests of several users, in the open and in tunnels, on
// connections that stay and on new ones: bcrypt runs once a user.
func TestBcryptRunsOnceAUserThroughTheProxyPort(t *testing.T) {
	const each, fresh = 800, 30 // requests of a client, of which so many on a connection of their own
	users := []string{"alice", "bob", "carol", "dave"}
	answer := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	plain, secure := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	defer plain.Close()
	defer secure.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	h := listenTrusting(t, roots, bcrypt.MinCost, users...)
	var clients sync.WaitGroup
	for _, user := range users {
		for _, target := range []string{plain.URL, secure.URL, plain.URL, secure.URL} {
			clients.Go(func() {
				c := h.client(user, "secret")
				for i := range each {
					if i < fresh { // each with a CONNECT of its own, where there is one
						c.CloseIdleConnections()
					}
					res, err := c.Get(target)
					if err != nil {
						t.Error(err)
						return
					}
					body, _ := io.ReadAll(res.Body)
					_ = res.Body.Close()
					if res.StatusCode != 200 {
						t.Errorf("%s of %s: %d %s", target, user, res.StatusCode, body)
					}
				}
				c.CloseIdleConnections()
			})
		}
	}
	clients.Wait()
	const want = 4 * 4 * each // 12,800
	total := h.requests(users...)
	for deadline := time.Now().Add(30 * time.Second); total < want && time.Now().Before(deadline); total = h.requests(users...) {
		time.Sleep(time.Millisecond) // a record comes after its answer
	}
	if total != want {
		t.Errorf("%d records name a user, want %d", total, want)
	}
	if n := h.ran.Load(); n != int64(len(users)) {
		t.Errorf("bcrypt ran %d times for %d requests of %d users, want once a user", n, total, len(users))
	}
}
