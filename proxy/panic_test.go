package proxy_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"heed/policy"
	"heed/proxy"
)

func TestSourceThatPanics(t *testing.T) {
	for _, p := range paths {
		for _, method := range []string{"GET", "POST"} {
			t.Run(p.name+", "+method, func(t *testing.T) {
				plain, secure := origins(t, func(http.ResponseWriter, *http.Request) { t.Error("the origin was asked") })
				h := start(t, sourceFunc(func(ctx, policy.Origin) (policy.Access, error) { panic("secret 10.1.2.3") }), []*httptest.Server{secure})
				c := h.client(p.http2)
				for n := range 2 { // the connection, too, lives
					req, _ := http.NewRequest(method, p.of(plain, secure).URL+"/x", strings.NewReader("hello"))
					res, err := c.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					body, _ := io.ReadAll(res.Body)
					_ = res.Body.Close()
					explained(t, res, 500, "proxy_internal_error")
					if strings.Contains(string(body)+res.Header.Get("Proxy-Status"), "secret") {
						t.Errorf("the answer says too much: %s", body)
					}
					r := recorded(h, n+1)
					if r.Decision.Verdict != policy.Error || r.Decision.Reason != policy.ReasonInternal || r.Status != 500 || !strings.Contains(r.Err, "secret") {
						t.Errorf("record %+v", r)
					}
				}
			})
		}
	}
}

func TestSourceThatPanicsOnATunnel(t *testing.T) {
	h := start(t, sourceFunc(func(ctx, policy.Origin) (policy.Access, error) { panic("x") }), nil, func(o *proxy.Options) { o.Leaf = nil })
	res := h.raw("CONNECT", "CONNECT h.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
	explained(t, res, 500, "proxy_internal_error")
	if r := recorded(h, 1); r.Decision.Reason != policy.ReasonInternal || r.Method != "CONNECT" {
		t.Errorf("record %+v", r)
	}
}

// An error of the Source is for a client that has left; any other refuses.
func TestSourceThatFails(t *testing.T) {
	for _, p := range paths {
		plain, secure := origins(t, func(http.ResponseWriter, *http.Request) { t.Error("the origin was asked") })
		h := start(t, sourceFunc(func(ctx, policy.Origin) (policy.Access, error) {
			return policy.Access{}, errors.New("unexpected")
		}), []*httptest.Server{secure})
		res, _ := get(t, h.client(p.http2), p.of(plain, secure).URL+"/x")
		explained(t, res, 403, "http_request_denied")
		if r := recorded(h, 1); r.Decision.Verdict != policy.Disallow || r.Decision.Reason != policy.ReasonUnreachable || r.Status != 403 || r.Err != "unexpected" {
			t.Errorf("%s: record %+v", p.name, r)
		}
	}
}

func TestNoCertificateToInterceptWith(t *testing.T) {
	for name, leaf := range map[string]func(...string) (*tls.Certificate, error){
		"error": func(...string) (*tls.Certificate, error) { return nil, errors.New("no leaf") },
		"panic": func(...string) (*tls.Certificate, error) { panic("no leaf") },
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, robots{}, nil, func(o *proxy.Options) { o.Leaf = leaf })
			c := h.tunnel("h.example:443")
			if err := tls.Client(c, &tls.Config{InsecureSkipVerify: true}).Handshake(); err == nil {
				t.Error("there was a handshake")
			}
			_, _ = io.Copy(io.Discard, c) // ends
			r := recorded(h, 1)
			if r.Decision.Verdict != policy.Error || r.Decision.Reason != policy.ReasonInternal || r.Method != "CONNECT" || !strings.Contains(r.Err, "no leaf") {
				t.Errorf("record %+v", r)
			}
			h.drained()
		})
	}
}

// A receiver of records that panics takes nothing with it: not the answer, not the
// connection, not the Shutdown at the end of the test.
func TestReceiverThatPanics(t *testing.T) {
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			plain, secure := origins(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
			var called atomic.Int32
			h := start(t, robots{}, []*httptest.Server{secure}, func(o *proxy.Options) {
				o.OnRecord = func(*proxy.Record) {
					called.Add(1)
					panic("x")
				}
			})
			c := h.client(p.http2)
			for range 2 {
				if _, body := get(t, c, p.of(plain, secure).URL+"/x"); body != "hello" {
					t.Errorf("body %q", body)
				}
			}
			if !p.http2 {
				l := h.leg(p.of(plain, secure).URL)
				l.send("GET @/%zz HTTP/1.1\r\nHost: #\r\n\r\n")
				res, _ := l.answer("GET")
				explained(t, res, 400, "http_request_error")
			}
			if n := called.Load(); n < 2 {
				t.Errorf("told of %d exchanges", n)
			}
		})
	}
}
