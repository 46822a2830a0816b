package proxy_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heed/policy"
)

// Max-Forwards ends the way of TRACE and OPTIONS here, is counted down, and does
// not concern other methods.
func TestMaxForwards(t *testing.T) {
	const top = "18446744073709551615"
	for _, tc := range []struct {
		name, method, sent string
		status             int
		got                string // by the origin; "" when it is not asked
	}{
		{"OPTIONS, 0", "OPTIONS", "0", 200, ""},
		{"TRACE, 0", "TRACE", "0", 200, ""},
		{"OPTIONS, 00", "OPTIONS", "00", 200, ""},
		{"OPTIONS, 1", "OPTIONS", "1", 204, "0"},
		{"TRACE, 10", "TRACE", "10", 204, "9"},
		{"TRACE, more than can be counted", "TRACE", top + "0", 204, top[:19] + "4"},
		{"OPTIONS, negative", "OPTIONS", "-1", 400, ""},
		{"OPTIONS, signed", "OPTIONS", "+1", 400, ""},
		{"OPTIONS, no number", "OPTIONS", "x", 400, ""},
		{"OPTIONS, list", "OPTIONS", "1, 1", 400, ""},
		{"OPTIONS, twice", "OPTIONS", "1\r\nMax-Forwards: 1", 400, ""},
		{"GET, 0", "GET", "0", 204, "0"},
	} {
		for _, p := range paths[:2] {
			t.Run(tc.name+", "+p.name, func(t *testing.T) {
				asked := make(chan string, 1)
				plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
					asked <- r.Header.Get("Max-Forwards")
					w.WriteHeader(http.StatusNoContent)
				})
				h := start(t, robots{all: disallowPrivate}, []*httptest.Server{secure})
				l := h.leg(p.of(plain, secure).URL)
				for n, path := range []string{"/x", "/private/x"} {
					l.send(tc.method + " @" + path + " HTTP/1.1\r\nHost: #\r\nMax-Forwards: " + tc.sent + "\r\n\r\n")
					res, body := l.answer(tc.method)
					if path == "/private/x" { // all methods are judged
						explained(t, res, 403, "http_request_denied")
						continue
					}
					if res.StatusCode != tc.status || res.Close {
						t.Fatalf("%d %s, want %d", res.StatusCode, body, tc.status)
					}
					if tc.got != "" {
						if got := <-asked; got != tc.got {
							t.Errorf("the origin got %q, want %q", got, tc.got)
						}
					} else if res.Header.Get("Proxy-Status") == "" {
						t.Error("nothing says that heed answered")
					}
					if r := recorded(h, n+1); r.Status != tc.status || (r.Decision.Verdict == policy.Allow) != (tc.status != 400) {
						t.Errorf("record %+v", r)
					}
				}
			})
		}
	}
}

func TestTraceShowsTheRequestWithoutSecrets(t *testing.T) {
	_, secure := origins(t, func(http.ResponseWriter, *http.Request) { t.Error("the origin was asked") })
	plain := "http://h.example"
	for _, url := range []string{plain, secure.URL} {
		l := start(t, robots{}, []*httptest.Server{secure}).leg(url)
		l.send("TRACE @/x?q HTTP/1.1\r\nHost: #\r\nMax-Forwards: 0\r\nCookie: a=secret\r\nAuthorization: secret\r\nProxy-Authorization: secret\r\n" +
			"X-Two: 1\r\nX-Two: 2\r\n\r\n")
		res, body := l.answer("TRACE")
		want := "TRACE " + l.prefix + "/x?q HTTP/1.1\r\nHost: " + l.host + "\r\nMax-Forwards: 0\r\nX-Two: 1\r\nX-Two: 2\r\n\r\n"
		if diff := cmp.Diff(want, body); diff != "" || res.Header.Get("Content-Type") != "message/http" {
			t.Errorf("%v (-want +got):\n%s", res.Header, diff)
		}
		l.send("TRACE @/x HTTP/1.1\r\nHost: #\r\nContent-Length: 1\r\n\r\nx")
		res, _ = l.answer("TRACE")
		explained(t, res, 400, "http_request_error")
	}
}

// RFC 9110 6.6.1: what has no Date gets one; what has, keeps it.
func TestDateIsAddedWhereItIsMissing(t *testing.T) {
	date := regexp.MustCompile(`^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$`)
	for sent, answer := range map[string]string{
		"":                              "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"Sun, 06 Nov 1994 08:49:37 GMT": "HTTP/1.1 404 Not Found\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 0\r\n\r\n",
	} {
		plain, secure, cert := rawServers(t, answering(answer))
		for _, p := range paths {
			url := map[bool]string{false: plain, true: secure}[p.secure]
			h := start(t, robots{}, []*httptest.Server{cert})
			res, _ := get(t, h.client(p.http2), url+"/x")
			if got := res.Header["Date"]; len(got) != 1 || !date.MatchString(got[0]) || sent != "" && got[0] != sent {
				t.Errorf("%s, the origin's %q: %q", p.name, sent, got)
			}
		}
	}
	origin := rawOrigin(t, func(c net.Conn) { _, _ = readHead(c); echoHandshake(c) })
	l := start(t, robots{}, nil).leg("http://" + origin)
	l.send(strings.Replace("GET @/chat"+upgrade, "WebSocket", "websocket", 1))
	if res := l.head("GET"); res.StatusCode != 101 || !date.MatchString(res.Header.Get("Date")) {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
}

func echoHandshake(c net.Conn) {
	_, _ = c.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: y\r\n\r\n"))
}
