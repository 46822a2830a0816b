package proxy_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"heed/proxy"
)

// short is an idle time that is over soon.
func short(o *proxy.Options) { o.IdleTimeout = 200 * time.Millisecond }

// An upload that stands still is given up, and says so.
func TestUploadThatStandsStill(t *testing.T) {
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			plain, secure := origins(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
			h := start(t, robots{}, []*httptest.Server{secure}, short)
			body, feed := io.Pipe()
			answered := make(chan int, 1)
			go func() {
				res, err := h.client(p.http2).Post(p.of(plain, secure).URL+"/x", "text/plain", body)
				if err != nil {
					answered <- 0
					return
				}
				_ = res.Body.Close()
				answered <- res.StatusCode
			}()
			_, _ = io.WriteString(feed, "and no more")
			r := recorded(h, 1)
			if r.RequestBytes != 11 || r.Status != 0 || r.Err != "the client sent nothing of its request for 200ms" {
				t.Errorf("record %+v", r)
			}
			_ = feed.Close() // net/http's client waits for it, answered or not
			if status := <-answered; status != 0 {
				t.Errorf("status %d", status)
			}
		})
	}
}

// A client that does not read its answer, with a window of HTTP/2 or of TCP that
// is full, is given up.
func TestAnswerThatNobodyReads(t *testing.T) {
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			plain, secure := origins(t, func(w http.ResponseWriter, _ *http.Request) {
				_, err := io.Copy(w, endless{})
				if err == nil {
					t.Error("the endless ended")
				}
			})
			h := start(t, robots{}, []*httptest.Server{secure}, short)
			res, err := h.client(p.http2).Get(p.of(plain, secure).URL + "/x")
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if r := recorded(h, 1); r.Err != "the client took nothing of its answer for 200ms" || r.ResponseBytes == 0 {
				t.Errorf("record %+v", r)
			}
			if _, err := io.Copy(io.Discard, res.Body); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("the answer looks complete: %v", err)
			}
		})
	}
}

// The other direction counts as well: who listens for long need not speak.
func TestUploadThatWaitsForItsAnswer(t *testing.T) {
	t.Parallel()
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			const parts = 30
			plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).EnableFullDuplex()
				for range parts {
					_, _ = io.WriteString(w, "part")
					_ = http.NewResponseController(w).Flush()
					time.Sleep(100 * time.Millisecond)
				}
				_, _ = io.Copy(io.Discard, r.Body)
			})
			h := start(t, robots{}, []*httptest.Server{secure}, func(o *proxy.Options) { o.IdleTimeout = 2 * time.Second })
			body, feed := io.Pipe()
			res, err := h.client(p.http2).Post(p.of(plain, secure).URL+"/x", "text/plain", body)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			got := make([]byte, 4*parts)
			if _, err := io.ReadFull(res.Body, got); err != nil {
				t.Fatalf("%q %v", got, err)
			}
			_ = feed.Close()
			if _, err := io.ReadAll(res.Body); err != nil {
				t.Error(err)
			}
			if r := recorded(h, 1); r.Err != "" {
				t.Errorf("record %+v", r)
			}
		})
	}
}

// endless is a body without end.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }
