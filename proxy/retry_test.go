package proxy_test

import (
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// An origin may close a pooled connection just as a request is sent on it. What is
// idempotent is sent once more on a new connection, the rest is not (RFC 9110 9.2.2),
// and on a new connection nothing is sent twice.
func TestStalePooledConnections(t *testing.T) {
	for _, tc := range []struct {
		request string
		again   bool
	}{
		{"GET @/x HTTP/1.1\r\nHost: #\r\n\r\n", true},
		{"HEAD @/x HTTP/1.1\r\nHost: #\r\n\r\n", true},
		{"OPTIONS @/x HTTP/1.1\r\nHost: #\r\n\r\n", true},
		{"POST @/x HTTP/1.1\r\nHost: #\r\nContent-Length: 0\r\n\r\n", false},
		{"POST @/x HTTP/1.1\r\nHost: #\r\nContent-Length: 5\r\n\r\nhello", false},
		{"PATCH @/x HTTP/1.1\r\nHost: #\r\nContent-Length: 0\r\n\r\n", false},
		{"FROB @/x HTTP/1.1\r\nHost: #\r\n\r\n", false},
		{"PUT @/x HTTP/1.1\r\nHost: #\r\nContent-Length: 5\r\n\r\nhello", false}, // its content is gone
	} {
		for _, p := range paths[:2] {
			t.Run(fmt.Sprintf("%.5s, %s", tc.request, p.name), func(t *testing.T) {
				var conns, asked atomic.Int32
				plain, secure, cert := rawServers(t, func(c net.Conn) {
					first := conns.Add(1) == 1
					for n := 0; ; n++ {
						if _, err := readHead(c); err != nil {
							return
						}
						asked.Add(1)
						if first && n == 1 {
							return // instead of an answer
						}
						_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
					}
				})
				h := start(t, robots{}, []*httptest.Server{cert})
				l := h.leg(map[bool]string{false: plain, true: secure}[p.secure])
				l.send("GET @/first HTTP/1.1\r\nHost: #\r\n\r\n")
				l.answer("GET")
				l.send(tc.request)
				method, _, _ := strings.Cut(tc.request, " ")
				res, _ := l.answer(method)
				r := recorded(h, 2)
				if tc.again {
					if res.StatusCode != 200 || asked.Load() != 3 || r.Status != 200 {
						t.Errorf("%d after %d requests", res.StatusCode, asked.Load())
					}
					return
				}
				explained(t, res, 502, "connection_terminated")
				if asked.Load() != 2 || r.ErrKind != "connection_terminated" {
					t.Errorf("%d requests, record %+v", asked.Load(), r)
				}
			})
		}
	}
	var asked atomic.Int32
	origin := rawOrigin(t, func(c net.Conn) { _, _ = readHead(c); asked.Add(1) })
	res := start(t, robots{}, nil).raw("GET", "GET http://"+origin+"/x HTTP/1.1\r\nHost: x\r\n\r\n")
	explained(t, res, 502, "connection_terminated")
	if asked.Load() != 1 {
		t.Errorf("a new connection was tried %d times", asked.Load())
	}
}
