package fetch_test

import (
	"bufio"
	"compress/flate"
	"compress/zlib"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"heed/fetch"
	"heed/internal/netguard"
	"heed/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// transport dials what allow names, and is set up as heed's own.
func transport(t *testing.T, allow []netip.Prefix) *http.Transport {
	t.Helper()
	tr := &http.Transport{
		DialContext:        netguard.New(allow, nil).DialContext(5 * time.Second),
		DisableCompression: true,
		ForceAttemptHTTP2:  true,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// newStore makes a Store that reaches loopback; set changes its options.
func newStore(t *testing.T, set func(*fetch.Options)) *fetch.Store {
	t.Helper()
	o := fetch.Options{Transport: transport(t, loopback)}
	if set != nil {
		set(&o)
	}
	s := fetch.New(o)
	t.Cleanup(s.Close)
	return s
}

func access(t *testing.T, s *fetch.Store, o policy.Origin) policy.Access {
	t.Helper()
	a, err := s.Access(t.Context(), o)
	if err != nil {
		t.Fatalf("Access(%s): %v", o, err)
	}
	if (a.Robots != nil) != (a.Result == policy.Successful) {
		t.Errorf("Access(%s): result %s, Robots %v", o, a.Result, a.Robots)
	}
	if !a.Stale && (a.Cause == "") != (a.Result == policy.Successful) {
		t.Errorf("Access(%s): result %s, Cause %q", o, a.Result, a.Cause)
	}
	if !a.Stale && a.Retry.IsZero() == (a.Result == policy.Unreachable) {
		t.Errorf("Access(%s): result %s, Retry %v", o, a.Result, a.Retry)
	}
	return a
}

func originOf(t *testing.T, rawURL string) policy.Origin {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	o, err := policy.ParseOrigin(u.Scheme, u.Host)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func serve(t *testing.T, h http.HandlerFunc) policy.Origin {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return originOf(t, srv.URL)
}

// serveTLS serves with a certificate that tr trusts, or that nobody does when
// tr is nil.
func serveTLS(t *testing.T, tr *http.Transport, h http.HandlerFunc) policy.Origin {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	if tr != nil {
		tr.TLSClientConfig = srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	}
	return originOf(t, srv.URL)
}

// serveRaw hands each connection to talk once the request header has been read.
func serveRaw(t *testing.T, talk func(*net.TCPConn)) policy.Origin {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer conn.Close()
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					talk(conn.(*net.TCPConn))
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		conns.Wait()
	})
	return originOf(t, "http://"+l.Addr().String())
}

// say answers with the given octets and closes the connection.
func say(response string) func(*net.TCPConn) {
	return func(c *net.TCPConn) { io.WriteString(c, response) }
}

func digest(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// roundTripper is an origin without a network, for tests of time.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func named(host string) policy.Origin { return policy.Origin{Scheme: "https", Host: host, Port: 443} }

func zlibWriter(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }

func flateWriter(w io.Writer) io.WriteCloser {
	f, err := flate.NewWriter(w, flate.DefaultCompression)
	if err != nil {
		panic(err)
	}
	return f
}

func textLog(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
