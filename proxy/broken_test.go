package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"heed/policy"
)

func TestBodyThatBreaksOffIsSeenBroken(t *testing.T) {
	for _, framing := range []string{"Content-Length", "chunked"} {
		for _, p := range paths {
			t.Run(p.name+", "+framing, func(t *testing.T) {
				plain, secure := origins(t, func(w http.ResponseWriter, _ *http.Request) {
					if framing == "Content-Length" {
						w.Header().Set("Content-Length", "100000")
					}
					_, _ = io.WriteString(w, strings.Repeat("x", 5000))
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				})
				origin := plain
				if p.secure {
					origin = secure
				}
				h := start(t, robots{all: disallowPrivate}, []*httptest.Server{secure})
				res, err := h.client(p.http2).Get(origin.URL + "/x")
				if err != nil {
					t.Fatal(err) // the head came before the break
				}
				if err := bodyErr(res); err == nil {
					t.Error("the client took the broken body for complete")
				}
				r := h.wait(1)[0]
				if r.Decision.Verdict != policy.Error || r.Decision.Reason != policy.ReasonUpstream || r.ErrKind != "http_response_incomplete" ||
					r.Status != 200 || r.ResponseBytes != 5000 || r.Err == "" {
					t.Errorf("record %+v", r)
				}
			})
		}
	}
}

// A body without length over HTTP/1.0 ends with the connection: nothing is broken.
func TestBodyEndedByTheConnectionIsWhole(t *testing.T) {
	origin := rawOrigin(t, func(c net.Conn) {
		_, _ = readHead(c)
		_, _ = io.WriteString(c, "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nwhole")
	})
	h := start(t, robots{}, nil)
	c := h.dialRaw()
	br := bufio.NewReader(c)
	for range 2 { // and the client's connection outlives the origin's
		fmt.Fprintf(c, "GET http://%s/x HTTP/1.1\r\nHost: x\r\n\r\n", origin)
		res, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(res.Body); string(body) != "whole" || err != nil || res.Close {
			t.Errorf("%q %v close=%v", body, err, res.Close)
		}
	}
	if r := h.wait(2)[1]; r.Decision.Verdict != policy.Allow {
		t.Errorf("record %+v", r)
	}
}

func TestUploadOutlivesAnEarlyAnswer(t *testing.T) {
	const size = 3 << 20
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			got := make(chan int64, 1)
			plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
				rc := http.NewResponseController(w)
				_ = rc.EnableFullDuplex()
				_, _ = io.WriteString(w, "early")
				_ = rc.Flush()
				n, _ := io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(w, " late")
				got <- n
			})
			origin := plain
			if p.secure {
				origin = secure
			}
			h := start(t, robots{}, []*httptest.Server{secure})
			// The body is sent only after the answer has begun.
			body, answer := io.Pipe()
			req, _ := http.NewRequest("POST", origin.URL+"/up", body)
			req.ContentLength = size
			go func() {
				_, _ = io.CopyN(answer, zeros{}, 100)
				time.Sleep(20 * time.Millisecond)
				_, _ = io.CopyN(answer, zeros{}, size-100)
				_ = answer.Close()
			}()
			res, err := h.client(p.http2).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if n := <-got; n != size || err != nil || string(text) != "early late" {
				t.Errorf("origin got %d of %d octets, client %q, %v", n, size, text, err)
			}
			if r := h.wait(1)[0]; r.RequestBytes != size {
				t.Errorf("record has %d request bytes, want %d", r.RequestBytes, size)
			}
		})
	}
}

// The origin's whole answer is out before it has read the upload.
func TestUploadOutlivesACompleteAnswer(t *testing.T) {
	const size = 1 << 20
	got := make(chan int64, 1)
	origin := rawOrigin(t, func(c net.Conn) {
		_, _ = readHead(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		time.Sleep(10 * time.Millisecond)
		n, _ := io.CopyN(io.Discard, c, size)
		got <- n
	})
	h := start(t, robots{}, nil)
	res, err := h.client(false).Post("http://"+origin+"/up", "", strings.NewReader(strings.Repeat("x", size)))
	if err != nil {
		t.Fatal(err)
	}
	if err := bodyErr(res); err != nil {
		t.Error(err)
	}
	if n := <-got; n != size {
		t.Errorf("origin got %d of %d octets", n, size)
	}
}

func TestClientGoneCancelsTheOrigin(t *testing.T) {
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			cancelled := make(chan struct{})
			plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
				close(cancelled)
			})
			origin := plain
			if p.secure {
				origin = secure
			}
			h := start(t, robots{}, []*httptest.Server{secure})
			res, err := h.client(p.http2).Get(origin.URL + "/endless")
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			select {
			case <-cancelled:
			case <-time.After(3 * time.Second):
				t.Error("the origin's request goes on")
			}
			if r := h.wait(1)[0]; r.Decision.Verdict != policy.Allow || r.Err == "" {
				t.Errorf("record %+v", r)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// rawOrigin serves each connection by f and returns its address.
func rawOrigin(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				f(c)
			}()
		}
	}()
	return l.Addr().String()
}
