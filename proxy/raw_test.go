package proxy_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"heed/proxy"
)

// of picks the origin for p.
func (p path) of(plain, secure *httptest.Server) *httptest.Server {
	if p.secure {
		return secure
	}
	return plain
}

// rawServers serves each connection by f, in the open and inside TLS, where
// HTTP/1.1 is all that is offered. cert is what start must trust.
func rawServers(t *testing.T, f func(net.Conn)) (plain, secure string, cert *httptest.Server) {
	t.Helper()
	cert = httptest.NewTLSServer(nil)
	t.Cleanup(cert.Close)
	config := &tls.Config{Certificates: cert.TLS.Certificates, NextProtos: []string{"http/1.1"}}
	return "http://" + rawOrigin(t, f), "https://" + rawOrigin(t, func(c net.Conn) {
		s := tls.Server(c, config)
		defer s.Close()
		f(s)
	}), cert
}

// answering returns what rawServers needs to answer every request of a connection
// with text, whatever it is.
func answering(text string) func(net.Conn) {
	return func(c net.Conn) {
		for {
			if _, err := readHead(c); err != nil {
				return
			}
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
}

// leg is a client's connection to an origin, by way of heed, octet by octet.
type leg struct {
	net.Conn
	t      testing.TB
	br     *bufio.Reader
	prefix string // of a request target
	host   string
}

// leg connects over HTTP/1.1, in the open or through a tunnel that heed decrypts.
func (h *heed) leg(url string) *leg {
	h.t.Helper()
	scheme, host, _ := strings.Cut(url, "://")
	l := &leg{t: h.t, host: host}
	if scheme == "http" {
		l.Conn, l.prefix = h.dialRaw(), url
	} else {
		name, _, _ := net.SplitHostPort(host)
		l.Conn = h.secure(h.tunnel(host), name)
	}
	l.br = bufio.NewReader(l.Conn)
	return l
}

// send writes a request. "@" stands for what precedes the path in its target and
// "#" for the host.
func (l *leg) send(text string) {
	l.t.Helper()
	_, err := io.WriteString(l, strings.NewReplacer("@", l.prefix, "#", l.host).Replace(text))
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		l.t.Fatal(err)
	} // heed may have answered already and closed: what comes next tells
}

// head reads the beginning of an answer.
func (l *leg) head(method string) *http.Response {
	l.t.Helper()
	res, err := http.ReadResponse(l.br, &http.Request{Method: method})
	if err != nil {
		l.t.Fatalf("no answer: %v", err)
	}
	return res
}

// answer reads a whole answer.
func (l *leg) answer(method string) (*http.Response, string) {
	l.t.Helper()
	res := l.head(method)
	body, err := io.ReadAll(res.Body)
	if err != nil {
		l.t.Fatalf("the answer breaks off after %q: %v", body, err)
	}
	return res, string(body)
}

// ended reports whether heed has closed the connection, without another octet.
// What it did not read of an upload makes that a reset.
func (l *leg) ended() bool {
	n, err := io.Copy(io.Discard, l.br)
	return n == 0 && (err == nil || errors.Is(err, syscall.ECONNRESET))
}

// explained fails unless res is an answer of heed's own.
func explained(t testing.TB, res *http.Response, status int, token string) {
	t.Helper()
	want := "heed; error=" + token + ";"
	if got := res.Header.Get("Proxy-Status"); res.StatusCode != status || !strings.HasPrefix(got, want) {
		t.Errorf("%d, Proxy-Status %q; want %d, %s", res.StatusCode, got, status, want)
	}
}

// drained waits until no connection of a client is open.
func (h *heed) drained() {
	h.t.Helper()
	for deadline := time.Now().Add(3 * time.Second); h.proxy.OpenConnections() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("%d connections are counted as open", h.proxy.OpenConnections())
		}
	}
}

func recorded(h *heed, n int) proxy.Record {
	h.t.Helper()
	return h.wait(n)[n-1]
}
