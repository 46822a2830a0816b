package proxy_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"heed/proxy"
)

// What users of other proxies have reported, as far as no other test is about it.

func TestHTTP2OriginWithoutLengthIsChunkedForHTTP1(t *testing.T) {
	_, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, r.Proto)
	})
	l := start(t, robots{}, []*httptest.Server{secure}).leg(secure.URL)
	for range 2 {
		l.send("GET @/x HTTP/1.1\r\nHost: #\r\n\r\n")
		res, body := l.answer("GET")
		if body != "HTTP/2.0" || res.Close || len(res.TransferEncoding) != 1 || res.TransferEncoding[0] != "chunked" {
			t.Errorf("%q %v close=%v", body, res.TransferEncoding, res.Close)
		}
	}
}

func TestResetContentHasNoContent(t *testing.T) {
	plain, secure, cert := rawServers(t, answering("HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n"))
	for _, url := range []string{plain, secure} {
		l := start(t, robots{}, []*httptest.Server{cert}).leg(url)
		for range 2 {
			l.send("GET @/x HTTP/1.1\r\nHost: #\r\n\r\n")
			if res, body := l.answer("GET"); res.StatusCode != 205 || body != "" || res.ContentLength != 0 || res.Close {
				t.Errorf("%d %q %d close=%v", res.StatusCode, body, res.ContentLength, res.Close)
			}
		}
	}
}

// A body that moves may take longer than every limit, however slowly.
func TestSlowBodiesOutliveEveryTimeout(t *testing.T) {
	t.Parallel()
	const limit, pause, parts = 2 * time.Second, 100 * time.Millisecond, 24
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).EnableFullDuplex()
				for range parts {
					_, _ = io.ReadFull(r.Body, make([]byte, 4))
					_, _ = io.WriteString(w, "part")
					_ = http.NewResponseController(w).Flush()
				}
				_, _ = io.Copy(io.Discard, r.Body)
			})
			h := start(t, robots{}, []*httptest.Server{secure}, func(o *proxy.Options) { o.HeaderTimeout, o.IdleTimeout = limit, limit })
			body, feed := io.Pipe()
			go func() {
				defer feed.Close()
				for range parts {
					time.Sleep(pause)
					_, _ = io.WriteString(feed, "part")
				}
			}()
			res, err := h.client(p.http2).Post(p.of(plain, secure).URL+"/x", "text/plain", body)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if got, err := io.ReadAll(res.Body); string(got) != strings.Repeat("part", parts) || err != nil {
				t.Errorf("%q %v", got, err)
			}
		})
	}
}

func TestIPv6Literals(t *testing.T) {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("SKIPPED: no IPv6 on this machine: ", err)
	}
	cert := httptest.NewTLSServer(nil)
	t.Cleanup(cert.Close)
	serve := func(l net.Listener) string {
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) })}
		go func() { _ = srv.Serve(l) }()
		t.Cleanup(func() { _ = srv.Close() })
		return l.Addr().String()
	}
	secure, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Fatal(err)
	}
	h := start(t, robots{all: disallowPrivate}, []*httptest.Server{cert})
	plainURL := "http://" + serve(l)
	secureURL := "https://" + serve(tls.NewListener(secure, &tls.Config{Certificates: cert.TLS.Certificates}))
	for _, url := range []string{plainURL, secureURL} {
		c := h.client(false)
		if res, body := get(t, c, url+"/x"); res.StatusCode != 200 || !strings.HasSuffix(url, "://"+body) || !strings.HasPrefix(body, "[::1]:") {
			t.Errorf("%s: %d, Host %q", url, res.StatusCode, body)
		}
		if res, _ := get(t, c, url+"/private/x"); res.StatusCode != 403 {
			t.Errorf("%s: %d", url, res.StatusCode)
		}
	}
}

// ALPN offers HTTP/2 where it is served and nowhere else.
func TestHTTP2IsOfferedOnlyWhereItIsServed(t *testing.T) {
	_, secure := origins(t, func(http.ResponseWriter, *http.Request) {})
	for _, served := range []bool{true, false} {
		h := start(t, robots{}, []*httptest.Server{secure}, func(o *proxy.Options) { o.HTTP2 = served })
		res, _ := get(t, h.client(true), secure.URL+"/x")
		if got := res.ProtoMajor == 2; got != served {
			t.Errorf("HTTP/2 served: %v, spoken: %v", served, got)
		}
	}
}

func TestConnectWithoutHost(t *testing.T) {
	_, secure := origins(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	h := start(t, robots{}, []*httptest.Server{secure})
	host := strings.TrimPrefix(secure.URL, "https://")
	c := h.dialRaw()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\n\r\n", host)
	if line, err := readHead(c); err != nil || !strings.HasPrefix(line, "HTTP/1.1 200 ") {
		t.Fatalf("%q %v", line, err)
	}
	if res := exchangeRaw(t, h.secure(c, "127.0.0.1"), "GET", "GET /x HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); res.StatusCode != 200 {
		t.Errorf("status %d", res.StatusCode)
	}
}
