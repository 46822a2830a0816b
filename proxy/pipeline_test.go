package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Requests that come in one write are told apart, and a malformed one among them
// is the one that is explained and recorded.
func TestPipelinedRequests(t *testing.T) {
	const good, bad = "GET @/x?n=1 HTTP/1.1\r\nHost: #\r\n\r\n", "GET @/a%zz HTTP/1.1\r\nHost: #\r\n\r\n"
	post := func(framing string) string { return "POST @/x HTTP/1.1\r\nHost: #\r\n" + framing }
	for _, tc := range []struct {
		name, text string
		statuses   []int
		url        string // of the last record
	}{
		{"three good ones", good + good + good, []int{200, 200, 200}, "@/x?n=1"},
		{"refused, then good", "GET @/private/ HTTP/1.1\r\nHost: #\r\n\r\n" + good, []int{403, 200}, "@/x?n=1"},
		{"the second malformed", good + bad, []int{200, 400}, "@/a%zz"},
		{"the third malformed", good + good + bad, []int{200, 200, 400}, "@/a%zz"},
		{"the second has no Host", good + "GET @/a HTTP/1.1\r\n\r\n", []int{200, 400}, "@/a"},
		{"the second is no HTTP", good + "HELLO\r\n\r\n", []int{200, 400}, ""},
		{"after a body of known length", post("Content-Length: 5\r\n\r\nhello") + bad, []int{200, 400}, "@/a%zz"},
		{"after a body that looks like a request", post("Content-Length: 31\r\n\r\nGET /b%zz HTTP/1.1\r\nHost: x\r\n\r\n") + bad, []int{200, 400}, "@/a%zz"},
		{"after a long body", post("Content-Length: 20000\r\n\r\n"+strings.Repeat("x", 20000)) + bad, []int{200, 400}, "@/a%zz"},
		// Where the next begins is not known then, and nothing is made up.
		{"after chunks", post("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n") + bad, []int{200, 400}, ""},
		{"after empty lines", post("Content-Length: 5\r\n\r\nhello") + "\r\n" + bad, []int{200, 400}, "@/a%zz"},
	} {
		for _, p := range paths[:2] {
			t.Run(tc.name+", "+p.name, func(t *testing.T) {
				plain, secure := origins(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
				origin := p.of(plain, secure)
				h := start(t, robots{all: disallowPrivate}, []*httptest.Server{secure})
				l := h.leg(origin.URL)
				l.send(tc.text)
				var res *http.Response
				for _, want := range tc.statuses {
					if res, _ = l.answer("GET"); res.StatusCode != want {
						t.Fatalf("status %d, want %d", res.StatusCode, want)
					}
				}
				r := recorded(h, len(tc.statuses))
				if want := strings.ReplaceAll(tc.url, "@", origin.URL); r.URL != want || r.Status != res.StatusCode || r.Time.IsZero() {
					t.Errorf("record %+v, want URL %s", r, want)
				}
			})
		}
	}
}

// The same for one that comes after the answer, octet by octet: net/http reads
// the first octet of it while it still deals with the request before.
func TestMalformedRequestAfterAnAnswer(t *testing.T) {
	for _, first := range []string{"GET @/x HTTP/1.1\r\nHost: #\r\n\r\n", "POST @/x HTTP/1.1\r\nHost: #\r\nContent-Length: 5\r\n\r\nhello"} {
		for _, p := range paths[:2] {
			read := make(chan struct{})
			plain, secure := origins(t, func(http.ResponseWriter, *http.Request) { <-read })
			origin := p.of(plain, secure)
			h := start(t, robots{}, []*httptest.Server{secure})
			l := h.leg(origin.URL)
			l.send(first)
			l.send("G")
			close(read)
			l.answer("GET")
			for _, octet := range "ET @/a%zz HTTP/1.1\r\nHost: #\r\n\r\n" {
				l.send(string(octet))
			}
			if res, _ := l.answer("GET"); res.StatusCode != 400 {
				t.Errorf("status %d", res.StatusCode)
			}
			if r := recorded(h, 2); r.URL != origin.URL+"/a%zz" || r.Method != "GET" {
				t.Errorf("%s after %.4s: record %+v", p.name, first, r)
			}
		}
	}
}

// Of two framings the chunks count, and one alone is sent on.
func TestLengthAndChunks(t *testing.T) {
	for _, p := range paths[:2] {
		plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%q %v %v", body, r.ContentLength, r.Header["Content-Length"])
		})
		h := start(t, robots{}, []*httptest.Server{secure})
		l := h.leg(p.of(plain, secure).URL)
		l.send("POST @/x HTTP/1.1\r\nHost: #\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
		if _, body := l.answer("POST"); body != `"hello" -1 []` {
			t.Errorf("%s: the origin saw %s", p.name, body)
		}
		h.wait(1)
	}
}

// RFC 9112 9.3: the connection of an HTTP/1.0 client is closed, and its answers
// have no chunks.
func TestHTTP10Clients(t *testing.T) {
	for _, tc := range []struct {
		request string
		status  int
	}{
		{"GET @/x HTTP/1.0\r\n\r\n", 200},
		{"GET @/x HTTP/1.0\r\nHost: #\r\nConnection: keep-alive\r\n\r\n", 200},
		{"GET @/length HTTP/1.0\r\nProxy-Connection: keep-alive\r\nConnection: keep-alive\r\n\r\n", 200},
		{"GET @/private/x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 403},
		{"GET @/private/x HTTP/1.0\r\n\r\n", 403},
		{"GET @/%zz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 400},
		{"GET @/x HTTP/1.0\r\nExpect: x\r\n\r\n", 417},
		// An HTTP/1.0 server does not know chunks; what follows must not become a request.
		{"POST @/x HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET @/smuggled HTTP/1.0\r\n\r\n", 200},
	} {
		for _, p := range paths[:2] {
			t.Run(fmt.Sprintf("%.40q %s", tc.request, p.name), func(t *testing.T) {
				plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/length" {
						w.Header().Set("Content-Length", "5")
					}
					_ = http.NewResponseController(w).Flush()
					_, _ = io.WriteString(w, "hello")
				})
				h := start(t, robots{all: disallowPrivate}, []*httptest.Server{secure})
				l := h.leg(p.of(plain, secure).URL)
				l.send(tc.request)
				res, body := l.answer("GET")
				if res.StatusCode != tc.status || !res.Close || res.TransferEncoding != nil || tc.status == 200 && body != "hello" {
					t.Errorf("%d %q close=%v %v", res.StatusCode, body, res.Close, res.TransferEncoding)
				}
				if tc.status != 200 && res.Header.Get("Proxy-Status") == "" {
					t.Error("the answer is not explained")
				}
				if !l.ended() {
					t.Error("the connection goes on")
				}
				h.wait(1)
			})
		}
	}
}
