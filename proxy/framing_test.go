package proxy_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An answer that has no body must not be framed as if it had one: the next on the
// same connection would be misread.
func TestAnswersWithoutBody(t *testing.T) {
	plain, secure, cert := rawServers(t, func(c net.Conn) {
		for {
			head, err := readHead(c)
			if err != nil {
				return
			}
			status, _, _ := strings.Cut(head[strings.Index(head, "/status/")+8:], " ")
			_, _ = fmt.Fprintf(c, "HTTP/1.1 %s Whatever\r\nEtag: \"x\"\r\n\r\n", status)
		}
	})
	length, secureLength, certLength := rawServers(t, answering("HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n"))
	for _, tc := range []struct{ method, status, sends string }{
		{"GET", "204", ""}, {"GET", "304", ""}, {"HEAD", "204", ""}, {"HEAD", "304", ""}, {"HEAD", "200", ""}, {"HEAD", "200", "1234"},
	} {
		for _, scheme := range []string{"http", "https"} {
			t.Run(fmt.Sprint(tc, scheme), func(t *testing.T) {
				h := start(t, robots{}, []*httptest.Server{cert, certLength})
				url := map[string]string{"http": plain, "https": secure, "http1234": length, "https1234": secureLength}[scheme+tc.sends]
				l := h.leg(url)
				for range 2 {
					l.send(tc.method + " @/status/" + tc.status + " HTTP/1.1\r\nHost: #\r\n\r\n")
					res, body := l.answer(tc.method)
					if fmt.Sprint(res.StatusCode) != tc.status || body != "" || res.Close || res.TransferEncoding != nil || res.Header.Get("Content-Length") != tc.sends {
						t.Errorf("%d %q %v %v", res.StatusCode, body, res.TransferEncoding, res.Header)
					}
				}
				if r := recorded(h, 2); r.ResponseBytes != 0 {
					t.Errorf("record %+v", r)
				}
			})
		}
	}
	h := start(t, robots{all: "User-agent: *\nDisallow: /\n"}, nil)
	h.raw("HEAD", "HEAD http://h.example/ HTTP/1.1\r\nHost: h.example\r\n\r\n")
	if r := recorded(h, 1); r.ResponseBytes != 0 {
		t.Errorf("a refused HEAD is recorded with %d octets of body", r.ResponseBytes)
	}
}

// A request without a body is sent on as one: an open stream or chunks of nothing
// are more than some origins take from a GET.
func TestRequestsWithoutBody(t *testing.T) {
	for _, p := range paths {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			t.Run(p.name+", "+method, func(t *testing.T) {
				got := make(chan int64, 1)
				plain, secure := origins(t, func(_ http.ResponseWriter, r *http.Request) { got <- r.ContentLength })
				h := start(t, robots{}, []*httptest.Server{secure})
				req, _ := http.NewRequest(method, p.of(plain, secure).URL+"/x", nil)
				res, err := h.client(p.http2).Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = bodyErr(res)
				if n := <-got; n != 0 {
					t.Errorf("the origin sees a Content-Length of %d", n)
				}
			})
		}
	}
}

func TestEarlyHintsAreRelayed(t *testing.T) {
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			plain, secure := origins(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Link"] = []string{"</a>", "</b>"}
				w.Header().Set("Alt-Svc", `h3=":443"`)
				w.WriteHeader(http.StatusEarlyHints)
				w.Header().Del("Link")
				w.WriteHeader(http.StatusProcessing)
				_, _ = io.WriteString(w, "hello")
			})
			h := start(t, robots{}, []*httptest.Server{secure})
			var got []string
			trace := &httptrace.ClientTrace{Got1xxResponse: func(status int, header textproto.MIMEHeader) error {
				got = append(got, fmt.Sprint(status, header["Link"], header["Alt-Svc"] != nil && p.secure))
				return nil
			}}
			req, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", p.of(plain, secure).URL+"/x", nil)
			res, err := h.client(p.http2).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if body, _ := io.ReadAll(res.Body); string(body) != "hello" || res.Header["Link"] != nil {
				t.Errorf("%q %v", body, res.Header)
			}
			_ = res.Body.Close()
			if diff := cmp.Diff([]string{"103 [</a> </b>] false", "102 [] false"}, got); diff != "" {
				t.Error(diff)
			}
			if r := recorded(h, 1); r.Status != 200 {
				t.Errorf("record %+v", r)
			}
		})
	}
}

// RFC 9110 15.2: an interim answer would be taken for the final one.
func TestHTTP10GetsNoInterimAnswer(t *testing.T) {
	plain, _ := origins(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		_, _ = io.WriteString(w, "hello")
	})
	l := start(t, robots{}, nil).leg(plain.URL)
	l.send("GET @/x HTTP/1.0\r\n\r\n")
	if res, body := l.answer("GET"); res.StatusCode != 200 || body != "hello" {
		t.Errorf("%d %q", res.StatusCode, body)
	}
}

func TestTrailersTravelBothWays(t *testing.T) {
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			got := make(chan http.Header, 1)
			plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Trailer", "X-Announced")
				_, _ = io.Copy(w, r.Body)
				got <- r.Trailer.Clone()
				w.Header().Set("X-Announced", "1")
				w.Header().Set(http.TrailerPrefix+"X-Late", "2")
			})
			h := start(t, robots{}, []*httptest.Server{secure})
			req, _ := http.NewRequest("POST", p.of(plain, secure).URL+"/x", io.NopCloser(strings.NewReader("hello")))
			req.Trailer = http.Header{"X-Sum": {"3"}}
			if !p.http2 { // whose servers refuse it
				req.Trailer.Set("Proxy-Authorization", "secret")
			}
			res, err := h.client(p.http2).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if body, _ := io.ReadAll(res.Body); string(body) != "hello" {
				t.Errorf("body %q", body)
			}
			_ = res.Body.Close()
			if res.Trailer.Get("X-Announced") != "1" || res.Trailer.Get("X-Late") != "2" {
				t.Errorf("the client got %v", res.Trailer)
			}
			if trailer := <-got; trailer.Get("X-Sum") != "3" || trailer.Get("Proxy-Authorization") != "" {
				t.Errorf("the origin got %v", trailer)
			}
		})
	}
}

// Bodies pass through, and are never held whole.
func TestLargeBodiesAreNotHeld(t *testing.T) {
	const size, bound = 64 << 20, 24 << 20
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
				if n, _ := io.Copy(io.Discard, r.Body); n != size {
					t.Errorf("the origin got %d octets", n)
				}
				w.Header().Set("Content-Length", fmt.Sprint(size))
				_, _ = io.CopyN(w, zeros{}, size)
			})
			h := start(t, robots{}, []*httptest.Server{secure})
			req, _ := http.NewRequest("POST", p.of(plain, secure).URL+"/x", io.LimitReader(zeros{}, size))
			req.ContentLength = size
			c := h.client(p.http2)
			c.Timeout = 0 // it takes its time on a busy machine
			before := heap()
			res, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(io.Discard, res.Body, size/2); err != nil {
				t.Fatal(err)
			}
			if grown := heap() - before; grown > bound {
				t.Errorf("the heap has grown by %d MiB", grown>>20)
			}
			if n, err := io.Copy(io.Discard, res.Body); n != size/2 || err != nil {
				t.Errorf("%d octets of the second half, %v", n, err)
			}
			_ = res.Body.Close()
			if r := recorded(h, 1); r.RequestBytes != size || r.ResponseBytes != size {
				t.Errorf("record %+v", r)
			}
		})
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
