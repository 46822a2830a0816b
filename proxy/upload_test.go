package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"heed/policy"
	"heed/proxy"
)

func TestContinueIsRelayed(t *testing.T) {
	for _, p := range paths[:2] {
		t.Run(p.name, func(t *testing.T) {
			plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body) // makes net/http send the 100
				_, _ = w.Write(body)
			})
			l := start(t, robots{}, []*httptest.Server{secure}).leg(p.of(plain, secure).URL)
			for range 2 {
				l.send("POST @/x HTTP/1.1\r\nHost: #\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
				if line, _ := l.br.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
					t.Fatalf("got %q before the body was sent", line)
				}
				if line, _ := l.br.ReadString('\n'); line != "\r\n" {
					t.Fatalf("got %q", line)
				}
				l.send("hello")
				if res, body := l.answer("POST"); res.StatusCode != 200 || body != "hello" {
					t.Errorf("%d %q", res.StatusCode, body)
				}
			}
		})
	}
}

// The final answer comes instead of a 100, whoever gives it, and what the client
// sends afterwards is not taken for the body that it kept back.
func TestFinalAnswerInsteadOfContinue(t *testing.T) {
	for _, path := range []string{"/private/x", "/x"} {
		for _, p := range paths[:2] {
			t.Run(p.name+path, func(t *testing.T) {
				plain, secure := origins(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusExpectationFailed) })
				h := start(t, robots{all: disallowPrivate}, []*httptest.Server{secure})
				l := h.leg(p.of(plain, secure).URL)
				l.send("POST @" + path + " HTTP/1.1\r\nHost: #\r\nContent-Length: 50\r\nExpect: 100-continue\r\n\r\n")
				res, _ := l.answer("POST")
				if want := map[string]int{"/private/x": 403, "/x": 417}[path]; res.StatusCode != want || !res.Close {
					t.Errorf("%d, close=%v; want %d and the connection closed", res.StatusCode, res.Close, want)
				}
				if !l.ended() {
					t.Error("the connection goes on")
				}
				if r := recorded(h, 1); r.RequestBytes != 0 || r.Status != res.StatusCode {
					t.Errorf("record %+v", r)
				}
			})
		}
	}
}

// What is left of the upload of a refused request is read up to a bound; beyond
// it the connection is closed. It is never taken for the next request.
func TestRefusedUpload(t *testing.T) {
	const evil = "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"
	for _, tc := range []struct {
		name  string
		size  int
		kept  bool
		chunk bool
	}{
		{"small", 100_000, true, false}, {"large", 600_000, false, false},
		{"small, chunked", 100_000, true, true}, {"large, chunked", 600_000, false, true},
	} {
		for _, p := range paths[:2] {
			t.Run(tc.name+", "+p.name, func(t *testing.T) {
				plain, secure := origins(t, func(http.ResponseWriter, *http.Request) {})
				h := start(t, robots{all: disallowPrivate}, []*httptest.Server{secure})
				l := h.leg(p.of(plain, secure).URL)
				body := strings.Repeat(evil, tc.size/len(evil))
				framing := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
				if tc.chunk {
					framing = fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
				}
				sent := make(chan struct{})
				go func() { // heed may stop reading
					defer close(sent)
					_, _ = io.WriteString(l, strings.NewReplacer("@", l.prefix, "#", l.host).Replace("POST @/private/x HTTP/1.1\r\nHost: #\r\n"+framing))
				}()
				res, _ := l.answer("POST")
				explained(t, res, 403, "http_request_denied")
				if res.Close == tc.kept {
					t.Errorf("close=%v", res.Close)
				}
				n := 1
				if tc.kept {
					<-sent
					l.send("GET @/x HTTP/1.1\r\nHost: #\r\n\r\n")
					if res, _ := l.answer("GET"); res.StatusCode != 200 {
						t.Errorf("next request: %d", res.StatusCode)
					}
					n = 2
				}
				_ = l.Close()
				<-sent
				h.drained()
				h.wait(n)
			})
		}
	}
}

// A client that announces an upload and does not send it is not waited for without
// an end, neither when its request is refused nor when the origin has answered.
func TestStalledUploadEnds(t *testing.T) {
	for _, path := range []string{"/private/x", "/x"} {
		for _, p := range paths[:2] {
			t.Run(p.name+path, func(t *testing.T) {
				plain, _, _ := rawServers(t, func(c net.Conn) {
					_, _ = readHead(c)
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly")
					_, _ = io.Copy(io.Discard, c)
				})
				// The other origin speaks HTTP/2.
				_, server := origins(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "early") })
				h := start(t, robots{all: disallowPrivate}, []*httptest.Server{server}, func(o *proxy.Options) { o.HeaderTimeout = time.Second })
				l := h.leg(map[bool]string{false: plain, true: server.URL}[p.secure])
				l.send("POST @" + path + " HTTP/1.1\r\nHost: #\r\nContent-Length: 100000\r\n\r\nGET ")
				res, body := l.answer("POST")
				if want := map[string]int{"/private/x": 403, "/x": 200}[path]; res.StatusCode != want || path == "/x" && body != "early" {
					t.Errorf("%d %q, want %d", res.StatusCode, body, want)
				}
				if !l.ended() {
					t.Error("the connection goes on")
				}
				if r := recorded(h, 1); r.Status != res.StatusCode {
					t.Errorf("record %+v", r)
				}
			})
		}
	}
}

// A body that cannot be read is the client's fault, not the origin's.
func TestMalformedUpload(t *testing.T) {
	for _, body := range []string{"5\r\nhelloXX3\r\n", "zz\r\nhello\r\n0\r\n\r\n", "-1\r\nx\r\n", "5;" + strings.Repeat("x", 20000) + "\r\n"} {
		for _, p := range paths[:2] {
			t.Run(fmt.Sprintf("%.12q %s", body, p.name), func(t *testing.T) {
				plain, secure := origins(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
				h := start(t, robots{}, []*httptest.Server{secure})
				l := h.leg(p.of(plain, secure).URL)
				l.send("POST @/x HTTP/1.1\r\nHost: #\r\nTransfer-Encoding: chunked\r\n\r\n" + body + "GET @/smuggled HTTP/1.1\r\nHost: #\r\n\r\n")
				res, _ := l.answer("POST")
				explained(t, res, 400, "http_request_error")
				if !l.ended() {
					t.Error("the connection goes on")
				}
				if r := recorded(h, 1); r.Decision.Reason != policy.ReasonBadRequest || r.ErrKind != "" || r.Status != 400 {
					t.Errorf("record %+v", r)
				}
			})
		}
	}
}

// The origin has answered before the upload turns out to be malformed: there is
// no telling where the next request would begin.
func TestUploadThatBreaksAfterTheAnswer(t *testing.T) {
	origin := rawOrigin(t, func(c net.Conn) {
		_, _ = readHead(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		_, _ = io.Copy(io.Discard, c)
	})
	h := start(t, robots{}, nil)
	l := h.leg("http://" + origin)
	l.send("POST @/x HTTP/1.1\r\nHost: #\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
	if res := l.head("POST"); res.StatusCode != 200 {
		t.Fatalf("status %d", res.StatusCode)
	}
	_, _ = l.br.Discard(2)
	l.send("zz\r\nGET @/smuggled HTTP/1.1\r\nHost: #\r\n\r\n")
	if !l.ended() {
		t.Error("the connection goes on")
	}
	h.wait(1)
}

// A client that leaves in the middle of its upload gets no answer, and no origin
// is blamed.
func TestClientThatLeavesWhileUploading(t *testing.T) {
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			began, ended := make(chan struct{}), make(chan struct{})
			plain, secure := origins(t, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadFull(r.Body, make([]byte, 5))
				close(began)
				_, _ = io.Copy(io.Discard, r.Body)
				close(ended)
			})
			h := start(t, robots{}, []*httptest.Server{secure})
			body, w := io.Pipe()
			req, _ := http.NewRequest("POST", p.of(plain, secure).URL+"/x", body)
			req.ContentLength = 1000
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				_, _ = w.Write([]byte("hello"))
				<-began
				cancel()
				_ = w.Close() // which the transport waits for
			}()
			if _, err := h.client(p.http2).Do(req.WithContext(ctx)); err == nil {
				t.Fatal("there was an answer")
			}
			<-ended
			if r := recorded(h, 1); r.ErrKind != "" || r.Status != 0 || r.Decision.Verdict != policy.Allow || r.Err == "" || r.RequestBytes != 5 {
				t.Errorf("record %+v", r)
			}
		})
	}
}
