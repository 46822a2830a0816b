package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Each chunk is delivered as it comes: the origin does not send the next before
// the client has the last.
func TestStreamsAreDeliveredChunkByChunk(t *testing.T) {
	const chunks = 5
	for _, contentType := range []string{"text/event-stream", "application/x-ndjson", ""} {
		for _, p := range ways() {
			t.Run(fmt.Sprintf("%q, %s", contentType, p.name), func(t *testing.T) {
				got := make(chan struct{})
				h, url := p.serve(t, robots{}, func(w http.ResponseWriter, r *http.Request) {
					w.Header()["Content-Type"] = []string{contentType}
					if contentType == "" {
						w.Header()["Content-Type"] = nil
					}
					rc := http.NewResponseController(w)
					_ = rc.Flush() // the head alone
					for i := range chunks {
						select {
						case <-got:
						case <-r.Context().Done():
							t.Errorf("chunk %d was never asked for", i)
							return
						}
						fmt.Fprintf(w, "chunk %d\n", i)
						_ = rc.Flush()
					}
				})
				res, err := h.client(p.http2).Get(url + "/x")
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				buf := make([]byte, 8)
				for i := range chunks {
					got <- struct{}{}
					if _, err := io.ReadFull(res.Body, buf); err != nil || string(buf) != fmt.Sprintf("chunk %d\n", i) {
						t.Fatalf("%q, %v", buf, err)
					}
				}
				if n, err := io.Copy(io.Discard, res.Body); n != 0 || err != nil {
					t.Errorf("%d octets more, %v", n, err)
				}
				if r := recorded(h, 1); r.ResponseBytes != 8*chunks {
					t.Errorf("record %+v", r)
				}
			})
		}
	}
}

// Both directions at once, as a client over HTTP/1.1 may.
func TestUploadAndAnswerInTurns(t *testing.T) {
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
				rc := http.NewResponseController(w)
				_ = rc.EnableFullDuplex()
				_ = rc.Flush()
				buf := make([]byte, 4)
				for {
					if _, err := io.ReadFull(r.Body, buf); err != nil {
						return
					}
					_, _ = w.Write(buf)
					_ = rc.Flush()
				}
			})
			h := start(t, robots{}, []*httptest.Server{secure})
			body, w := io.Pipe()
			req, _ := http.NewRequest("POST", p.of(plain, secure).URL+"/x", body)
			go func() { _, _ = w.Write([]byte("ping")) }()
			res, err := h.client(p.http2).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			buf := make([]byte, 4)
			for i := range 4 {
				if i > 0 {
					if _, err := w.Write([]byte("ping")); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := io.ReadFull(res.Body, buf); err != nil || string(buf) != "ping" {
					t.Fatalf("%q, %v", buf, err)
				}
			}
			_ = w.Close()
			if err := bodyErr(res); err != nil {
				t.Error(err)
			}
			if r := recorded(h, 1); r.RequestBytes != 16 || r.ResponseBytes != 16 {
				t.Errorf("record %+v", r)
			}
		})
	}
}
