package proxy_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"heed/proxy"
)

// overTLS makes the proxy port speak TLS, with the certificate of httptest's servers.
func overTLS(cert *httptest.Server) func(*proxy.Options) {
	return func(o *proxy.Options) {
		o.TLS = &tls.Config{Certificates: cert.TLS.Certificates}
		o.HeaderTimeout = 2 * time.Second
	}
}

// A proxy URL may begin with https://. What goes through is what always does.
func TestProxyPortOverTLS(t *testing.T) {
	plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			echo(w, r)
			return
		}
		_, _ = io.Copy(w, r.Body)
	})
	h := start(t, robots{all: disallowPrivate}, []*httptest.Server{secure}, overTLS(secure))
	for _, p := range paths {
		c := h.client(p.http2)
		tr := c.Transport.(*http.Transport)
		tr.Proxy = http.ProxyURL(&url.URL{Scheme: "https", Host: h.addr})
		tr.TLSClientConfig.RootCAs.AddCert(secure.Certificate())
		res, err := c.Post(p.of(plain, secure).URL+"/x", "text/plain", strings.NewReader("hello"))
		if err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		if body, _ := io.ReadAll(res.Body); string(body) != "hello" || res.StatusCode != 200 {
			t.Errorf("%s: %d %q", p.name, res.StatusCode, body)
		}
		_ = res.Body.Close()
		res, _ = get(t, c, p.of(plain, secure).URL+"/private/x")
		explained(t, res, 403, "http_request_denied")
	}
	l := &leg{Conn: h.portTLS(secure, "h2", "http/1.1"), t: t, prefix: plain.URL, host: "x"}
	l.br = bufio.NewReader(l.Conn)
	if got := l.Conn.(*tls.Conn).ConnectionState().NegotiatedProtocol; got != "http/1.1" {
		t.Errorf("negotiated %q", got)
	}
	l.send("GET @/chat" + upgrade)
	l.switched()
	l.send("hello")
	l.expect("hello")
	_ = l.Close()
	h.drained()
}

// What does not speak TLS on such a port is told so, and what is no handshake at
// all ends without a word.
func TestProxyPortOverTLSAndThoseWhoDoNot(t *testing.T) {
	_, secure := origins(t, func(http.ResponseWriter, *http.Request) {})
	h := start(t, robots{}, nil, overTLS(secure))
	res := h.raw("GET", "GET http://h.example/ HTTP/1.1\r\nHost: h.example\r\n\r\n")
	explained(t, res, 400, "http_request_error")
	if body, _ := io.ReadAll(res.Body); !strings.Contains(string(body), "https://") {
		t.Errorf("%s", body)
	}
	if r := recorded(h, 1); r.Status != 400 || r.Err == "" || !r.Client.IsValid() {
		t.Errorf("record %+v", r)
	}
	c := h.dialRaw()
	_, _ = c.Write([]byte("\x00\x01\x02\x03\x04\x05"))
	if n, err := io.Copy(io.Discard, c); n > 7 || errors.Is(err, os.ErrDeadlineExceeded) { // an alert at most
		t.Errorf("%d octets, %v", n, err)
	}
	silent := h.dialRaw()
	if _, err := io.Copy(io.Discard, silent); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("silence does not end: %v", err)
	}
	h.drained()
	h.wait(1)
}

// portTLS connects to a proxy port that speaks TLS.
func (h *heed) portTLS(cert *httptest.Server, protocols ...string) *tls.Conn {
	h.t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(cert.Certificate())
	c := tls.Client(h.dialRaw(), &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", NextProtos: protocols})
	if err := c.Handshake(); err != nil {
		h.t.Fatal(err)
	}
	return c
}

// secure speaks TLS inside a tunnel, with HTTP/1.1.
func (h *heed) secure(c net.Conn, name string) *tls.Conn {
	h.t.Helper()
	return h.handshake(c, name, "http/1.1")
}

// secureH2 is secure for HTTP/2.
func (h *heed) secureH2(c net.Conn, name string) *tls.Conn {
	h.t.Helper()
	return h.handshake(c, name, "h2")
}

func (h *heed) handshake(c net.Conn, name, protocol string) *tls.Conn {
	h.t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(h.ca.PEM())
	s := tls.Client(c, &tls.Config{RootCAs: roots, ServerName: name, NextProtos: []string{protocol}})
	if err := s.Handshake(); err != nil {
		h.t.Fatalf("handshake as %s: %v", name, err)
	}
	return s
}
