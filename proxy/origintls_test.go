package proxy_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"heed/proxy"
)

// counted counts the connections that are accepted and those that are open.
type counted struct {
	net.Listener
	all, open *atomic.Int32
}

func (l counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.all.Add(1)
	l.open.Add(1)
	return &countedOnce{Conn: c, open: l.open}, nil
}

type countedOnce struct {
	net.Conn
	once sync.Once
	open *atomic.Int32
}

func (c *countedOnce) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// countingOrigin is an origin over TLS that counts connections.
func countingOrigin(t *testing.T, http2 bool, handler http.HandlerFunc) (s *httptest.Server, all, open *atomic.Int32) {
	s = httptest.NewUnstartedServer(handler)
	all, open = new(atomic.Int32), new(atomic.Int32)
	s.Listener = counted{s.Listener, all, open}
	s.EnableHTTP2 = http2
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, all, open
}

func transportTo(t *testing.T, s *httptest.Server, change ...func(*proxy.TransportOptions)) *proxy.Transport {
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	o := proxy.TransportOptions{TLS: &tls.Config{RootCAs: roots}}
	for _, c := range change {
		c(&o)
	}
	tr := proxy.NewTransport(o)
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// Finding out that an origin does not speak HTTP/2 costs no connection of its own,
// and no content.
func TestOriginOfHTTP1IsConnectedToOnce(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		s, all, _ := countingOrigin(t, false, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
		tr := transportTo(t, s, func(o *proxy.TransportOptions) { o.TLS.MaxVersion = version })
		for n := range 40 {
			req, _ := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/x", strings.NewReader("hello"))
			if n%2 == 1 {
				req.ContentLength = -1
			}
			res, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(res.Body); string(body) != "hello" || err != nil {
				t.Errorf("%q %v", body, err)
			}
			_ = res.Body.Close()
			tr.CloseIdleConnections() // the next has to ask again
		}
		if all.Load() != 40 {
			t.Errorf("%s: %d connections for 40 requests", tls.VersionName(version), all.Load())
		}
	}
}

// A WebSocket that an origin declines leaves the other requests where they were.
func TestDeclinedWebSocketDoesNotEndHTTP2(t *testing.T) {
	s, _, _ := countingOrigin(t, true, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })
	h := start(t, robots{}, []*httptest.Server{s})
	for range 2 {
		l := h.leg(s.URL)
		l.send("GET @/chat" + upgrade)
		if _, body := l.answer("GET"); body != "HTTP/1.1" {
			t.Errorf("the WebSocket was asked for over %s", body)
		}
		l.send("GET @/x HTTP/1.1\r\nHost: #\r\n\r\n")
		if _, body := l.answer("GET"); body != "HTTP/2.0" {
			t.Errorf("the next request went over %s", body)
		}
	}
}

// Names that share an address do not share connections: each has its own server
// name, certificate and keep-alive.
func TestNamesThatShareAnAddress(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		s, all, _ := countingOrigin(t, http2, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.TLS.ServerName+" "+strings.Split(r.Host, ":")[0]+" "+r.Proto)
		})
		_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
		h := start(t, robots{}, []*httptest.Server{s}, func(o *proxy.Options) {
			o.Transport = transportTo(t, s, func(to *proxy.TransportOptions) {
				to.Dial = o.Dial
				to.Insecure, _ = proxy.ParseHosts([]string{"*.example"}) // the certificate names one host alone
			})
		})
		for range 3 {
			for _, name := range []string{"a.example", "b.example", "a.b.example"} {
				res, body := get(t, h.client(http2), "https://"+name+":"+port+"/x")
				if want := fmt.Sprintf("%s %s HTTP/%s", name, name, map[bool]string{true: "2.0", false: "1.1"}[http2]); res.StatusCode != 200 || body != want {
					t.Errorf("%d %q, want %q", res.StatusCode, body, want)
				}
			}
		}
		if all.Load() != 3 {
			t.Errorf("%d connections for three names", all.Load())
		}
	}
}

// A client that leaves while a connection is being opened is not kept waiting, and
// the connection is nobody's that cannot be closed.
func TestCancellationWhileDialling(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		s, all, open := countingOrigin(t, http2, func(http.ResponseWriter, *http.Request) {})
		dialling, goOn := make(chan struct{}, 1), make(chan struct{})
		tr := transportTo(t, s, func(o *proxy.TransportOptions) {
			o.Dial = func(_ context.Context, network, address string) (net.Conn, error) {
				dialling <- struct{}{}
				<-goOn
				return net.Dial(network, address)
			}
		})
		reason := errors.New("the reason")
		ctx, cancel := context.WithCancelCause(t.Context())
		body := &closedBody{Reader: strings.NewReader("hello"), closed: make(chan struct{})}
		req, _ := http.NewRequestWithContext(ctx, "POST", s.URL+"/x", body)
		req.ContentLength = 5
		ended := make(chan error, 1)
		go func() {
			_, err := tr.RoundTrip(req)
			ended <- err
		}()
		<-dialling
		cancel(reason)
		if err := <-ended; err == nil {
			t.Error("a cancelled request was answered")
		}
		<-body.closed
		close(goOn)
		for deadline := time.Now().Add(10 * time.Second); all.Load() == 0 || open.Load() > 0; time.Sleep(time.Millisecond) {
			tr.CloseIdleConnections()
			if time.Now().After(deadline) {
				t.Fatalf("HTTP/2 %v: %d of %d connections are open", http2, open.Load(), all.Load())
			}
		}
	}
}

type closedBody struct {
	io.Reader
	once   sync.Once
	closed chan struct{}
}

func (b *closedBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// TLS holds what has come behind the record that an answer ended in, where nobody
// sees it who looks at the socket.
func TestRecordsBehindAnAnswerAreNotTheNext(t *testing.T) {
	for _, behind := range []string{poison, ""} {
		cert := httptest.NewTLSServer(nil)
		t.Cleanup(cert.Close)
		var conns, asked atomic.Int32
		host := rawOrigin(t, func(c net.Conn) {
			conns.Add(1)
			held := &heldWrites{Conn: c}
			s := tls.Server(held, &tls.Config{Certificates: cert.TLS.Certificates, NextProtos: []string{"http/1.1"}})
			for {
				if _, err := readHead(s); err != nil {
					return
				}
				asked.Add(1)
				held.hold = true
				_, _ = io.WriteString(s, ok+"Content-Length: 5\r\n\r\nhello")
				if behind == "" {
					_ = s.CloseWrite() // an alert is a record, too
				} else {
					_, _ = io.WriteString(s, behind)
				}
				held.flush()
			}
		})
		l := start(t, robots{}, []*httptest.Server{cert}).leg("https://" + host)
		for range 10 {
			l.send("POST @/x HTTP/1.1\r\nHost: #\r\nContent-Length: 0\r\n\r\n")
			if res, body := l.answer("POST"); res.StatusCode != 200 || body != "hello" {
				t.Errorf("%d %q", res.StatusCode, body)
			}
		}
		if conns.Load() != 10 || asked.Load() != 10 {
			t.Errorf("behind the answer %q: %d connections for 10 requests", behind, conns.Load())
		}
	}
}

// heldWrites holds back what is written until it is told to send all of it at once.
type heldWrites struct {
	net.Conn
	hold bool
	b    []byte
}

func (h *heldWrites) Write(b []byte) (int, error) {
	if !h.hold {
		return h.Conn.Write(b)
	}
	h.b = append(h.b, b...)
	return len(b), nil
}

func (h *heldWrites) flush() {
	_ = h.SetWriteDeadline(time.Time{}) // which a close_notify sets to now
	_, _ = h.Conn.Write(h.b)
	h.hold, h.b = false, nil
}
