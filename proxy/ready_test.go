package proxy_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"heed/policy"
	"heed/proxy"
)

func TestNothingIsCarriedWhileTheProxyIsNotReady(t *testing.T) {
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			var asked atomic.Int64
			plain, secure := origins(t, func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				_, _ = io.WriteString(w, "from the origin")
			})
			target := plain
			if p.secure {
				target = secure
			}
			var trouble atomic.Pointer[error]
			h := start(t, robots{}, []*httptest.Server{secure}, func(o *proxy.Options) {
				o.Ready = func() error {
					if err := trouble.Load(); err != nil {
						return *err
					}
					return nil
				}
			})
			c := h.client(p.http2)
			if res, body := get(t, c, target.URL+"/a"); res.StatusCode != 200 || body != "from the origin" {
				t.Fatalf("ready: %d %q", res.StatusCode, body)
			}
			err := errors.New("the log is full")
			trouble.Store(&err)
			res, body := get(t, c, target.URL+"/b") // inside a tunnel that is open already
			if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
				t.Errorf("not ready: %d, Retry-After %q, %q", res.StatusCode, res.Header.Get("Retry-After"), body)
			}
			if direct, err := http.Get("http://" + h.addr + "/"); err != nil || direct.StatusCode == 503 {
				t.Errorf("the proxy port, asked directly: %v, %v", direct, err)
			} else {
				direct.Body.Close()
			}
			if res := h.raw("CONNECT", "CONNECT h.example:443 HTTP/1.1\r\nHost: h.example:443\r\n\r\n"); res.StatusCode != 503 {
				t.Errorf("CONNECT: %d, want 503", res.StatusCode)
			}
			trouble.Store(nil)
			if res, body := get(t, c, target.URL+"/c"); res.StatusCode != 200 || body != "from the origin" {
				t.Errorf("ready again: %d %q", res.StatusCode, body)
			}
			if n := asked.Load(); n != 2 {
				t.Errorf("the origin was asked %d times, want 2", n)
			}
			checkNotReady(t, h.wait(5))
		})
	}
}

// checkNotReady checks that two of the records tell of requests refused.
func checkNotReady(t *testing.T, records []proxy.Record) {
	t.Helper()
	n := 0
	for _, r := range records {
		if r.Decision.Reason != policy.ReasonInternal {
			continue
		}
		n++
		if r.Decision.Verdict != policy.Error || r.Status != 503 || r.URL == "" || r.Err != "the log is full" {
			t.Errorf("record of a refused request: %+v", r)
		}
	}
	if n != 2 {
		t.Errorf("%d records of refused requests, want 2", n)
	}
}
