package proxy_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"heed/internal/ca"
	"heed/proxy"
)

// Many hosts behind one address and port, as at a CDN: each request travels on a
// connection that was opened for its own host, on both legs, however long the
// connections stay; and none of them fails.
func TestHostsOfOneAddressShareNoConnection(t *testing.T) {
	const hosts, clients = 20, 4
	requests := 500 // of each client, over each protocol
	if os.Getenv("TEST_FULL") != "" {
		requests = 1_000_000 / clients / 2
	}
	authority, err := ca.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	origin := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.Host)
		if r.TLS.ServerName != host {
			t.Errorf("a request to %s came on a connection to %s", host, r.TLS.ServerName)
		}
		_, _ = io.WriteString(w, host)
	}))
	// Each host shows a certificate of its own, and fails where it is taken for another.
	origin.Listener = tls.NewListener(l, &tls.Config{NextProtos: []string{"h2", "http/1.1"}, GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		return authority.Leaf(hello.ServerName)
	}})
	origin.Config.ErrorLog = log.New(io.Discard, "", 0)
	origin.Start()
	defer origin.Close()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM())
	h := start(t, robots{}, nil, func(o *proxy.Options) {
		transport := proxy.NewTransport(proxy.TransportOptions{Dial: o.Dial, TLS: &tls.Config{RootCAs: roots}, TLSHandshakeTimeout: 30 * time.Second})
		o.Transport = transport
		o.OnRecord = func(r *proxy.Record) {
			if r.Err != "" || r.Status != 200 {
				t.Errorf("record of %s: %d %s", r.URL, r.Status, r.Err)
			}
		}
		t.Cleanup(transport.CloseIdleConnections)
	})
	var all sync.WaitGroup
	for _, http2 := range []bool{false, true} {
		for n := range clients {
			c := h.client(http2)
			c.Timeout = time.Minute
			all.Go(func() {
				for i := range requests {
					host := fmt.Sprintf("h%d.example", (i*7+n)%hosts)
					res, err := c.Get("https://" + host + ":" + port + "/")
					if err != nil {
						t.Errorf("%s: %v", host, err)
						return
					}
					body, err := io.ReadAll(res.Body)
					_ = res.Body.Close()
					if res.StatusCode != 200 || string(body) != host || err != nil || !strings.HasPrefix(res.TLS.PeerCertificates[0].DNSNames[0], host) {
						t.Errorf("%s: %d %q %v", host, res.StatusCode, body, err)
					}
				}
			})
		}
	}
	all.Wait()
}
