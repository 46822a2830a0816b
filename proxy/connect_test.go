package proxy_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"heed/policy"
	"heed/proxy"
)

func TestConnectAuthority(t *testing.T) {
	h := start(t, robots{}, nil)
	for i, authority := range []string{"h.example", "h.example:", "h.example:0", "h.example:99999", "h.example:x", ":443", "[h.example]:443",
		"h.example:443/x", "http://h.example:443", "/x", "user@h.example:443", "user:secret@h.example:443", "127.1:443"} {
		res := h.raw("CONNECT", "CONNECT "+authority+" HTTP/1.1\r\nHost: h.example:443\r\n\r\n")
		r := h.wait(i + 1)[i]
		if res.StatusCode != 400 || res.Header.Get("Proxy-Status") == "" || r.Status != 400 || r.Decision.Reason != policy.ReasonBadRequest || r.Method != "CONNECT" ||
			strings.Contains(r.URL+r.Err, "user") && !strings.Contains(r.Err, "user information") {
			t.Errorf("CONNECT %s: %d, record %+v", authority, res.StatusCode, r)
		}
	}
}

// The client does not wait for the 200: its ClientHello comes with the CONNECT.
func TestOctetsSentWithTheConnectAreNotLost(t *testing.T) {
	_, secure := origins(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	authority := strings.TrimPrefix(secure.URL, "https://")
	for _, mode := range []string{"intercepted", "tunnel"} {
		t.Run(mode, func(t *testing.T) {
			h := start(t, robots{}, []*httptest.Server{secure}, func(o *proxy.Options) {
				if mode == "tunnel" {
					o.Leaf = nil
				}
			})
			c := &earlyConn{Conn: h.dialRaw(), before: []byte("CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n\r\n")}
			roots := secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs.Clone()
			roots.AppendCertsFromPEM(h.ca.PEM())
			s := tls.Client(c, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", NextProtos: []string{"http/1.1"}})
			res := exchangeRaw(t, s, "GET", "GET /x HTTP/1.1\r\nHost: "+authority+"\r\nConnection: close\r\n\r\n")
			if body, _ := io.ReadAll(res.Body); string(body) != "hello" {
				t.Errorf("got %q", body)
			}
		})
	}
}

// earlyConn sends before together with the first octets, and skips the answer to it.
type earlyConn struct {
	net.Conn
	before []byte
}

func (c *earlyConn) Write(b []byte) (int, error) {
	if c.before == nil {
		return c.Conn.Write(b)
	}
	first := append(c.before, b...)
	c.before = nil
	if _, err := c.Conn.Write(first); err != nil {
		return 0, err
	}
	_, err := readHead(c.Conn)
	return len(b), err
}

func TestPlainHTTPInsideConnectIsJudgedAsHTTP(t *testing.T) {
	plain, _ := origins(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	authority := strings.TrimPrefix(plain.URL, "http://")
	for _, mode := range []string{"intercept", "tunnel"} {
		t.Run(mode, func(t *testing.T) {
			h := start(t, robots{of: map[string]string{plain.URL: disallowPrivate}}, nil, func(o *proxy.Options) {
				if mode == "tunnel" {
					o.Leaf = nil
				}
			})
			c := h.tunnel(authority)
			res := exchangeRaw(t, c, "GET", "GET /private/x HTTP/1.1\r\nHost: "+authority+"\r\n\r\n")
			if res.StatusCode != 403 {
				t.Errorf("disallowed: %d", res.StatusCode)
			}
			res = exchangeRaw(t, c, "GET", "GET /public HTTP/1.1\r\nHost: "+authority+"\r\n\r\n")
			if body, _ := io.ReadAll(res.Body); res.StatusCode != 200 || string(body) != "hello" {
				t.Errorf("allowed: %d %q", res.StatusCode, body)
			}
			if r := h.wait(2)[0]; r.URL != plain.URL+"/private/x" || !r.Intercepted {
				t.Errorf("record %+v", r)
			}
		})
	}
}

func TestNeitherTLSNorHTTPIsABadRequest(t *testing.T) {
	_, secure := origins(t, func(http.ResponseWriter, *http.Request) {})
	authority := strings.TrimPrefix(secure.URL, "https://")
	for _, leaf := range []bool{true, false} {
		h := start(t, robots{}, nil, func(o *proxy.Options) {
			if !leaf {
				o.Leaf = nil
			}
		})
		c := h.tunnel(authority)
		_, _ = c.Write([]byte("\x00SSH-2.0\r\n"))
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("the connection goes on")
		}
		if r := h.wait(1)[0]; r.Decision.Reason != policy.ReasonBadRequest || r.Method != "CONNECT" || r.Event != proxy.EventExchange {
			t.Errorf("record %+v", r)
		}
	}
}

func TestSilenceInATunnelEnds(t *testing.T) {
	h := start(t, robots{}, nil, func(o *proxy.Options) { o.HeaderTimeout = 50 * time.Millisecond })
	for _, sent := range []string{"", "\x16\x03\x01", "GET / HT"} {
		c := h.tunnel("h.example:443")
		_, _ = io.WriteString(c, sent)
		if n, err := io.Copy(io.Discard, c); err != nil {
			t.Errorf("after %q: %d octets, %v; want the end of the connection", sent, n, err)
		}
	}
	deadline := time.Now().Add(3 * time.Second)
	for h.proxy.OpenConnections() != 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if n := h.proxy.OpenConnections(); n != 0 {
		t.Errorf("%d connections are counted as open", n)
	}
}

func TestLeafNames(t *testing.T) {
	h := start(t, robots{}, nil)
	for _, tc := range []struct{ authority, sni, verify string }{
		{"h.example:443", "h.example", "h.example"},
		{"H.Example.:443", "h.example", "h.example"},
		{"h.example:443", "other.example", "other.example"},
		{"h.example:443", "other.example", "h.example"},
		{"h.example:443", "", "h.example"},
		{"127.0.0.1:443", "", "127.0.0.1"},
		{"[::1]:443", "", "::1"},
	} {
		s := tls.Client(h.tunnel(tc.authority), &tls.Config{ServerName: tc.sni, InsecureSkipVerify: true})
		if err := s.Handshake(); err != nil {
			t.Errorf("%+v: %v", tc, err)
			continue
		}
		if err := s.ConnectionState().PeerCertificates[0].VerifyHostname(tc.verify); err != nil {
			t.Errorf("%+v: %v", tc, err)
		}
		_ = s.Close()
	}
}

// Session tickets of one connection are good for the next.
func TestTLSSessionsResume(t *testing.T) {
	_, secure := origins(t, func(http.ResponseWriter, *http.Request) {})
	authority := strings.TrimPrefix(secure.URL, "https://")
	h := start(t, robots{}, []*httptest.Server{secure})
	config := &tls.Config{InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(1), ServerName: "h.example"}
	for i, want := range []bool{false, true} {
		s := tls.Client(h.tunnel(authority), config)
		fmt.Fprintf(s, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", authority)
		if _, err := http.ReadResponse(bufio.NewReader(s), nil); err != nil {
			t.Fatal(err)
		}
		if got := s.ConnectionState().DidResume; got != want {
			t.Errorf("connection %d resumed: %v, want %v", i, got, want)
		}
		_ = s.Close()
	}
}

// The commonest trouble of all is logged in words that help.
func TestClientThatDoesNotTrustTheCA(t *testing.T) {
	messages := make(logged, 10)
	h := start(t, robots{}, nil, func(o *proxy.Options) { o.Log = slog.New(messages) })
	s := tls.Client(h.tunnel("h.example:443"), &tls.Config{ServerName: "h.example", RootCAs: x509.NewCertPool()})
	if err := s.Handshake(); err == nil {
		t.Fatal("the certificate is trusted")
	}
	if got := <-messages; !strings.Contains(got, "heed ca export") {
		t.Errorf("logged %q", got)
	}
	h.drained()
}

// logged takes the messages of warnings and errors.
type logged chan string

func (l logged) Enabled(_ ctx, level slog.Level) bool { return level >= slog.LevelWarn }
func (l logged) WithAttrs([]slog.Attr) slog.Handler   { return l }
func (l logged) WithGroup(string) slog.Handler        { return l }
func (l logged) Handle(_ ctx, record slog.Record) error {
	l <- record.Message
	return nil
}
