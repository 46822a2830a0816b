package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"heed/policy"
	"heed/proxy"
)

// way is a path together with what the origin at its end speaks.
type way struct {
	path
	origin2 bool
}

// ways are all combinations of what the two legs speak.
func ways() (out []way) {
	for _, p := range paths {
		p.name += ", origin of HTTP/1.1"
		out = append(out, way{p, false})
		if p.secure {
			p.name = strings.TrimSuffix(p.name, "1.1") + "2"
			out = append(out, way{p, true})
		}
	}
	return out
}

// serve starts an origin and a heed that trusts it.
func (w way) serve(t *testing.T, source proxy.Source, handler http.HandlerFunc) (*heed, string) {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	if s.EnableHTTP2 = w.origin2; w.secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return start(t, source, []*httptest.Server{s}), s.URL
}

// A client that leaves takes its request away from the origin, whenever it leaves.
func TestClientThatLeavesAtAnyTime(t *testing.T) {
	for _, when := range []string{"before the header", "between two octets", "while octets flow", "while its upload flows"} {
		for _, w := range ways() {
			t.Run(when+", "+w.name, func(t *testing.T) {
				asked, ended := make(chan struct{}, 1), make(chan struct{})
				h, url := w.serve(t, robots{}, func(rw http.ResponseWriter, r *http.Request) {
					defer close(ended)
					rc := http.NewResponseController(rw)
					switch when {
					case "before the header":
						asked <- struct{}{}
						<-r.Context().Done()
					case "between two octets":
						_, _ = io.WriteString(rw, "x")
						_ = rc.Flush()
						<-r.Context().Done()
					case "while octets flow":
						_, _ = io.Copy(rw, zeros{})
					default:
						asked <- struct{}{}
						_, _ = io.Copy(io.Discard, r.Body)
					}
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var body io.Reader
				if when == "while its upload flows" {
					body = zeros{}
				}
				req, _ := http.NewRequestWithContext(ctx, "POST", url+"/x", body)
				failed := make(chan error, 1)
				go func() {
					res, err := h.client(w.http2).Do(req)
					if err == nil {
						defer res.Body.Close()
						_, err = io.CopyN(io.Discard, res.Body, 1)
						asked <- struct{}{}
						<-ctx.Done()
					}
					failed <- err
				}()
				<-asked
				cancel()
				<-ended // or the test would not
				<-failed
				if r := recorded(h, 1); r.Decision.Verdict != policy.Allow || r.ErrKind != "" || r.Err == "" {
					t.Errorf("record: %s %d, kind %q, error %q", r.Decision.Verdict, r.Status, r.ErrKind, r.Err)
				}
			})
		}
	}
}

// lazyBody says whether it was read.
type lazyBody struct {
	io.Reader
	read atomic.Bool
}

func (b *lazyBody) Read(p []byte) (int, error) {
	b.read.Store(true)
	return b.Reader.Read(p)
}

// RFC 9110 10.1.1: content follows a 100 and nothing else. Over HTTP/2 net/http keeps
// the expectation to itself, and asks for the content as soon as somebody reads.
func TestExpectOnEveryWay(t *testing.T) {
	for _, takes := range []bool{true, false} {
		for _, w := range ways() {
			t.Run(fmt.Sprintf("taken %v, %s", takes, w.name), func(t *testing.T) {
				h, url := w.serve(t, robots{}, func(rw http.ResponseWriter, r *http.Request) {
					if r.ProtoMajor == 1 && !w.http2 && r.Header.Get("Expect") != "100-continue" {
						t.Errorf("%v", r.Header)
					}
					if !takes {
						rw.WriteHeader(http.StatusExpectationFailed)
						return
					}
					_, _ = io.Copy(rw, r.Body)
				})
				c := h.client(w.http2)
				c.Transport.(*http.Transport).ExpectContinueTimeout = time.Minute
				body := &lazyBody{Reader: strings.NewReader("hello")}
				req, _ := http.NewRequest("POST", url+"/x", body)
				req.ContentLength = 5
				req.Header.Set("Expect", "100-continue")
				res, err := c.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				got, _ := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if want := map[bool]int{true: 200, false: 417}[takes]; res.StatusCode != want || takes != (string(got) == "hello") || body.read.Load() != (takes || w.http2) {
					t.Errorf("%d %q, content sent: %v", res.StatusCode, got, body.read.Load())
				}
			})
		}
	}
}

// What an origin does to its own connection is not the client's trouble: neither
// HTTP/1.0, nor a close, nor a refusal by heed ends a connection of HTTP/2.
func TestConnectionOfHTTP2Stays(t *testing.T) {
	for _, answer := range []string{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.0 200 OK\r\n\r\nok"} {
		_, secure, cert := rawServers(t, func(c net.Conn) {
			_, _ = readHead(c)
			_, _ = io.WriteString(c, answer)
		})
		c := start(t, robots{all: disallowPrivate}, []*httptest.Server{cert}).client(true)
		for n, path := range []string{"/x", "/private/x", "/x", "/private/x"} {
			var reused bool
			trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }}
			req, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", secure+path, nil)
			res, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if err := bodyErr(res); err != nil || res.ProtoMajor != 2 || reused != (n > 0) || res.StatusCode != map[bool]int{true: 200, false: 403}[path == "/x"] {
				t.Errorf("%.8s: %s %d, reused=%v, %v", answer, res.Proto, res.StatusCode, reused, err)
			}
		}
	}
}

// An origin that gives a stream up before it has answered is told of as any other.
func TestStreamThatAnOriginGivesUp(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			h, url := w.serve(t, robots{}, func(_ http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/broken" {
					panic(http.ErrAbortHandler)
				}
			})
			c := h.client(w.http2)
			for n, method := range []string{"GET", "POST"} {
				req, _ := http.NewRequest(method, url+"/broken", nil)
				res, err := c.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = bodyErr(res)
				token := "connection_terminated"
				if w.origin2 {
					token = "http_protocol_error"
				}
				explained(t, res, 502, token)
				if res, _ := get(t, c, url+"/x"); res.StatusCode != 200 {
					t.Errorf("the next: %d", res.StatusCode)
				}
				if r := h.wait(2*n + 2)[2*n]; r.Status != 502 || r.ErrKind != token || r.Decision.Reason != policy.ReasonUpstream {
					t.Errorf("record %+v", r)
				}
			}
		})
	}
}
