package proxy_test

import (
	"io"
	"net"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	sentDate = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
	via      = "Via: 1.1 heed-*\r\n"
)

// octets are what a client sends, what the origin gets and answers, and what the
// client gets, octet by octet. All end the client's connection.
var octets = []struct{ name, sent, asked, answer, got string }{
	{"GET", "GET @/a%2Fb?c=|d HTTP/1.1\r\nHost: #\r\nx-b: 1\r\nAccept: */*\r\nConnection: close\r\n\r\n",
		"GET /a%2Fb?c=|d HTTP/1.1\r\nHost: #\r\nAccept: */*\r\n" + via + "X-B: 1\r\n\r\n",
		ok + sentDate + "Content-Length: 5\r\nServer: x\r\n\r\nhello",
		ok + "Content-Length: 5\r\n" + sentDate + "Server: x\r\n" + via + "Connection: close\r\n\r\nhello"},
	{"POST", "POST @/x HTTP/1.1\r\nHost: #\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
		"POST /x HTTP/1.1\r\nHost: #\r\nContent-Length: 5\r\n" + via + "\r\nhello",
		"HTTP/1.1 204 No Content\r\n" + sentDate + "\r\n",
		"HTTP/1.1 204 No Content\r\n" + sentDate + via + "Connection: close\r\n\r\n"},
	{"chunks", "POST @/x HTTP/1.1\r\nHost: #\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5;x\r\nhello\r\n0\r\n\r\n",
		"POST /x HTTP/1.1\r\nHost: #\r\nTransfer-Encoding: chunked\r\n" + via + "\r\n5\r\nhello\r\n0\r\n\r\n",
		ok + sentDate + "Transfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n0\r\n\r\n",
		ok + sentDate + via + "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
	{"chunks of nothing", "POST @/x HTTP/1.1\r\nHost: #\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
		"POST /x HTTP/1.1\r\nHost: #\r\nTransfer-Encoding: chunked\r\n" + via + "\r\n0\r\n\r\n",
		ok + sentDate + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		ok + sentDate + via + "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
	{"trailers", "POST @/x HTTP/1.1\r\nHost: #\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
		"POST /x HTTP/1.1\r\nHost: #\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n" + via + "\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
		ok + sentDate + "Trailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
		ok + sentDate + "Trailer: X-Sum\r\n" + via + "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"},
	{"205", "GET @/x HTTP/1.1\r\nHost: #\r\nConnection: close\r\n\r\n",
		"GET /x HTTP/1.1\r\nHost: #\r\n" + via + "\r\n",
		"HTTP/1.1 205 Reset Content\r\n" + sentDate + "Content-Length: 0\r\n\r\n",
		"HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n" + sentDate + via + "Connection: close\r\n\r\n"},
	{"DELETE, and no length in the answer", "DELETE @/x HTTP/1.1\r\nHost: #\r\nConnection: close\r\n\r\n",
		"DELETE /x HTTP/1.1\r\nHost: #\r\n" + via + "\r\n",
		ok + sentDate + "\r\nhello",
		ok + sentDate + via + "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
	{"HEAD", "HEAD @/x HTTP/1.1\r\nHost: #\r\nConnection: close\r\n\r\n",
		"HEAD /x HTTP/1.1\r\nHost: #\r\n" + via + "\r\n",
		ok + sentDate + "Content-Length: 5\r\n\r\n",
		ok + "Content-Length: 5\r\n" + sentDate + via + "Connection: close\r\n\r\n"},
	{"304", "GET @/x HTTP/1.1\r\nHost: #\r\nIf-None-Match: \"a\"\r\nConnection: close\r\n\r\n",
		"GET /x HTTP/1.1\r\nHost: #\r\nIf-None-Match: \"a\"\r\n" + via + "\r\n",
		"HTTP/1.1 304 Not Modified\r\n" + sentDate + "Etag: \"a\"\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\n" + sentDate + "Etag: \"a\"\r\n" + via + "Connection: close\r\n\r\n"},
	{"interim answer, no Date", "GET @/x HTTP/1.1\r\nHost: #\r\nConnection: close\r\n\r\n",
		"GET /x HTTP/1.1\r\nHost: #\r\n" + via + "\r\n",
		"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok + "Content-Length: 0\r\n\r\n",
		"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n" + via + "\r\n" + ok + "Content-Length: 0\r\n" + via + "Date: now\r\nConnection: close\r\n\r\n"},
	{"HTTP/1.0", "GET @/x HTTP/1.0\r\nHost: #\r\n\r\n",
		"GET /x HTTP/1.1\r\nHost: #\r\nVia: 1.0 heed-*\r\n\r\n",
		"HTTP/1.0 200 OK\r\n" + sentDate + "\r\nhello",
		"HTTP/1.0 200 OK\r\nConnection: close\r\n" + sentDate + "Via: 1.0 heed-*\r\n\r\nhello"},
	{"refused", "HEAD @/private/x HTTP/1.1\r\nHost: #\r\nConnection: close\r\n\r\n", "", "",
		"HTTP/1.1 403 Forbidden\r\nCache-Control: no-store\r\nContent-Length: n\r\nContent-Type: application/problem+json\r\n" +
			"Proxy-Status: heed; error=http_request_denied; details=\"robots.txt line 2: Disallow: /private/\"\r\nVary: Accept\r\nDate: now\r\nConnection: close\r\n\r\n"},
}

var (
	itsDate   = regexp.MustCompile(`Date: \w+, \d+ \w+ 2[^\r]*`)
	itsLength = regexp.MustCompile(`Content-Length: \d{2,}`)
)

func TestOctetsOnBothLegs(t *testing.T) {
	for _, tc := range octets {
		for _, p := range paths[:2] {
			t.Run(tc.name+", "+p.name, func(t *testing.T) {
				asked := make(chan string, 1)
				plain, secure, cert := rawServers(t, func(c net.Conn) {
					var b []byte
					for {
						if _, _, err := parseWire(b, wireRequest); err == nil {
							break
						}
						buf := make([]byte, 4<<10)
						n, err := c.Read(buf)
						if err != nil {
							return
						}
						b = append(b, buf[:n]...)
					}
					asked <- string(b)
					_, _ = io.WriteString(c, tc.answer)
				})
				l := start(t, robots{all: disallowPrivate}, []*httptest.Server{cert}).leg(map[bool]string{false: plain, true: secure}[p.secure])
				l.send(tc.sent)
				stream, err := io.ReadAll(l.br)
				if err != nil {
					t.Error(err)
				}
				got := itsLength.ReplaceAllString(itsDate.ReplaceAllString(pseudonymless(string(stream)), "Date: now"), "Content-Length: n")
				if diff := cmp.Diff(tc.got, got); diff != "" {
					t.Errorf("the client got (-want +got):\n%s", diff)
				}
				if tc.asked == "" {
					return
				}
				if diff := cmp.Diff(tc.asked, strings.ReplaceAll(pseudonymless(<-asked), l.host, "#")); diff != "" {
					t.Errorf("the origin got (-want +got):\n%s", diff)
				}
			})
		}
	}
}
