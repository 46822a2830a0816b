package proxy_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	ok       = "HTTP/1.1 200 OK\r\n"
	poison   = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
	okChunks = ok + "Transfer-Encoding: chunked\r\n"
)

// splitting is what readers of an answer disagree on. status is what the client
// gets, body its content; cut: the answer breaks off, and the client sees that.
var splitting = []struct {
	name, text string
	status     int
	body       string
	cut        bool
}{
	{"length: signed", ok + "Content-Length: +5\r\n\r\nhello" + poison, 502, "", false},
	{"length: negative", ok + "Content-Length: -5\r\n\r\nhello" + poison, 502, "", false},
	{"length: hexadecimal", ok + "Content-Length: 0x5\r\n\r\nhello" + poison, 502, "", false},
	{"length: list", ok + "Content-Length: 5, 0\r\n\r\nhello" + poison, 502, "", false},
	{"length: list of equals", ok + "Content-Length: 5, 5\r\n\r\nhello" + poison, 502, "", false},
	{"length: two numbers", ok + "Content-Length: 5 0\r\n\r\nhello" + poison, 502, "", false},
	{"length: twice, different", ok + "Content-Length: 0\r\nContent-Length: 5\r\n\r\nhello" + poison, 502, "", false},
	{"length: twice, the same", ok + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", false},
	{"length: too large", ok + "Content-Length: 99999999999999999999\r\n\r\nhello" + poison, 502, "", false},
	{"length: empty", ok + "Content-Length:\r\n\r\nhello", 502, "", false},
	{"length: NUL", ok + "Content-Length: 5\x00\r\n\r\nhello" + poison, 502, "", false},
	{"length: space before the colon", ok + "Content-Length : 5\r\n\r\nhello" + poison, 502, "", false},
	{"length: folded", ok + "Content-Length:\r\n 5\r\n\r\nhello", 200, "hello", false},
	{"length: less than comes", ok + "Content-Length: 5\r\n\r\nhello" + poison, 200, "hello", false},
	{"length: more than comes", ok + "Content-Length: 50\r\n\r\nhello", 200, "", true},
	{"length: none", ok + "\r\nhello", 200, "hello", false},
	{"length: none, then another answer", ok + "\r\nhello" + poison, 200, "hello" + poison, false},

	{"coding: beside a length", okChunks + "Content-Length: 1\r\n" + chunks + poison, 200, "hello", false},
	{"coding: unknown", ok + "Transfer-Encoding: xchunked\r\n" + chunks + poison, 502, "", false},
	{"coding: identity", ok + "Transfer-Encoding: identity\r\n\r\nhello", 502, "", false},
	{"coding: gzip, chunked", ok + "Transfer-Encoding: gzip, chunked\r\n" + chunks + poison, 502, "", false},
	{"coding: chunked, identity", ok + "Transfer-Encoding: chunked, identity\r\n" + chunks + poison, 502, "", false},
	{"coding: twice", okChunks + "Transfer-Encoding: chunked\r\n" + chunks + poison, 502, "", false},
	{"coding: vertical tab", ok + "Transfer-Encoding: \x0bchunked\r\n" + chunks + poison, 502, "", false},
	{"coding: space before the colon", ok + "Transfer-Encoding : chunked\r\nContent-Length: 5\r\n" + chunks + poison, 502, "", false},
	{"coding: tab before the colon", ok + "Transfer-Encoding\t: chunked\r\nContent-Length: 5\r\n" + chunks + poison, 502, "", false},
	{"coding: folded", ok + "Transfer-Encoding:\r\n chunked\r\n" + chunks, 200, "hello", false},
	{"coding: HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", false},
	{"coding: of a 204", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n" + chunks, 204, "", false},
	{"coding: of a 304", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n" + chunks + poison, 304, "", false},

	{"chunk: no size", okChunks + "\r\n\r\nhello\r\n0\r\n\r\n", 200, "", true},
	{"chunk: signed", okChunks + "\r\n+5\r\nhello\r\n0\r\n\r\n", 200, "", true},
	{"chunk: too large", okChunks + "\r\n10000000000000005\r\nhello\r\n0\r\n\r\n", 200, "", true},
	{"chunk: longer than it says", okChunks + "\r\n5\r\nhello!\r\n0\r\n\r\n", 200, "", true},
	{"chunk: not all of it comes", okChunks + "\r\n50\r\nhello", 200, "", true},
	{"chunk: no last one", okChunks + "\r\n5\r\nhello\r\n", 200, "", true},
	{"chunk: extension", okChunks + "\r\n5;x=\"y\"\r\nhello\r\n0\r\n\r\n", 200, "hello", false},
	{"chunk: bare LF in an extension", okChunks + "\r\n5;\nhello\r\n0\r\n\r\n", 200, "", true},
	{"trailer: framing", okChunks + "Trailer: X\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n", 200, "hello", false},
	{"trailer: NUL and bare CR", okChunks + "Trailer: X\r\n\r\n5\r\nhello\r\n0\r\nX: a\x00b\rc\r\n\r\n", 200, "", true},
	{"trailer: no colon", okChunks + "\r\n5\r\nhello\r\n0\r\nX\r\n\r\n", 200, "", true},

	{"line: all end with LF", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", 200, "hello", false},
	{"line: bare CR in a value", ok + "X: a\rSet-Cookie: b\r\nContent-Length: 5\r\n\r\nhello", 502, "", false},
	{"line: garbage before", "hello\r\n" + ok + "\r\n", 502, "", false},
	{"line: empty before", "\r\n" + ok + "\r\n", 502, "", false},
	{"status: 099", "HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n", 502, "", false},
	{"status: 000", "HTTP/1.1 000 Odd\r\nContent-Length: 0\r\n\r\n", 502, "", false},
	{"status: 1000", "HTTP/1.1 1000 Odd\r\nContent-Length: 0\r\n\r\n", 502, "", false},
	{"status: negative", "HTTP/1.1 -20 Odd\r\nContent-Length: 0\r\n\r\n", 502, "", false},
	{"status: letters", "HTTP/1.1 2OO OK\r\nContent-Length: 0\r\n\r\n", 502, "", false},
	{"status: none", "HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 502, "", false},
	{"status: no reason", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", false},
	{"status: control characters in the reason", "HTTP/1.1 200 O\x00K\x1b\rX: y\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", false},
	{"status: over-long reason", "HTTP/1.1 200 " + strings.Repeat("x", 80<<10) + "\r\nContent-Length: 5\r\n\r\nhello", 502, "", false},
	{"status: http/1.1", "http/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 502, "", false},
	{"status: HTTP/2.0", "HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", 502, "", false},
	{"status: HTTP/0.9", "HTTP/0.9 200 OK\r\nContent-Length: 5\r\n\r\nhello", 502, "", false},
	{"status: HTTP/1.1x", "HTTP/1.1x 200 OK\r\nContent-Length: 5\r\n\r\nhello", 502, "", false},
	{"status: interim without end", strings.Repeat("HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n", 3), 502, "", true},

	{"status: flood of interim ones", strings.Repeat("HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n", 4<<10), 502, "", true},
	{"status: 101 unasked", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + poison, 502, "", false},

	{"field: NUL", ok + "X: a\x00b\r\nContent-Length: 5\r\n\r\nhello", 502, "", false},
	{"field: NUL in an interim answer", "HTTP/1.1 103 Early Hints\r\nX: a\x00b\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nhello", 502, "", false},
	{"field: no colon", ok + "X\r\nContent-Length: 5\r\n\r\nhello", 502, "", false},
	{"field: no name", ok + ": y\r\nContent-Length: 5\r\n\r\nhello", 502, "", false},
	{"field: space in the name", ok + "X Y: z\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", false},
	{"field: space before the colon", ok + "X : z\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", false},
	{"field: control character in the name", ok + "X\x01: z\r\nContent-Length: 5\r\n\r\nhello", 502, "", false},
	{"field: not ASCII", ok + "X\xc3\xa9: z\r\nContent-Length: 5\r\n\r\nhello", 502, "", false},
	{"field: answer in a fold", ok + "Content-Length: 5\r\nX: y\r\n HTTP/1.1 200 OK\r\n\r\nhello", 200, "hello", false},
	{"field: first line folded", ok + " X: y\r\nContent-Length: 5\r\n\r\nhello", 502, "", false},
	{"field: over-long", ok + "X: " + strings.Repeat("y", 80<<10) + "\r\n\r\n", 502, "", false},
	{"field: over-many", ok + strings.Repeat("X: y\r\n", 20<<10) + "\r\n", 502, "", false},
	{"content: of a 204", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello" + poison, 204, "", false},
	{"content: of a 304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello" + poison, 304, "", false},
	{"content: two answers", ok + "Content-Length: 5\r\n\r\nhello" + strings.Repeat(poison, 3), 200, "hello", false},
}

// What a client gets is well-formed and the answer to its own request, however odd
// an origin's answer is.
func TestNoAnswerIsSplit(t *testing.T) {
	for _, p := range paths[:2] {
		t.Run(p.name, func(t *testing.T) {
			// One origin for all, so that what is left of an answer would be the next case's.
			var text atomic.Pointer[string]
			plain, secure, cert := rawServers(t, func(c net.Conn) {
				for {
					if _, err := readHead(c); err != nil {
						return
					}
					answer := *text.Load()
					if _, err := io.WriteString(c, answer); err != nil || !strings.Contains(answer, poison) || strings.HasPrefix(answer, ok+"\r\n") {
						return // the end is a part of the answer
					}
				}
			})
			h := start(t, robots{all: disallowPrivate}, []*httptest.Server{cert}, failing(t))
			for _, tc := range splitting {
				t.Run(tc.name, func(t *testing.T) {
					text.Store(&tc.text)
					l := h.leg(map[bool]string{false: plain, true: secure}[p.secure])
					_ = l.SetDeadline(time.Now().Add(20 * time.Second))
					l.send("GET @/x HTTP/1.1\r\nHost: #\r\n\r\nGET @/private/x HTTP/1.1\r\nHost: #\r\nConnection: close\r\n\r\n")
					stream, err := io.ReadAll(l.br)
					if err != nil && !tc.cut {
						t.Error(err)
					}
					first, rest, err := parseWire(stream, wireStatus)
					for err == nil && strings.HasPrefix(first.line, "HTTP/1.1 1") {
						first, rest, err = parseWire(rest, wireStatus)
					}
					if err != nil && !(tc.cut && errors.Is(err, errCut)) {
						t.Fatalf("%v in %.1000q", err, stream)
					}
					if got := fmt.Sprint(tc.status); len(first.line) < 12 || first.line[9:12] != got || tc.status < 300 && err == nil && first.body != tc.body {
						t.Errorf("%s %.200q, want %s %q", first.line, first.body, got, tc.body)
					}
					if tc.status == 502 && !strings.HasPrefix(strings.Join(first.fields["proxy-status"], ""), "heed; error=") {
						t.Errorf("not explained: %v", first.fields)
					}
					if errors.Is(err, errCut) {
						return // and nothing came after it
					}
					second, rest, err := parseWire(rest, wireStatus)
					if err != nil || !strings.HasPrefix(second.line, "HTTP/1.1 403 ") || len(rest) > 0 {
						t.Errorf("then %q, %v, %d octets more", second.line, err, len(rest))
					}
				})
			}
		})
	}
}

// RFC 9112 5.1: a proxy removes white space before the colon of an origin's field.
func TestSpaceBeforeTheColonOfAnAnswerIsRemoved(t *testing.T) {
	plain, secure, cert := rawServers(t, answering(ok+"X : y\r\nX: z\r\nKeep-Alive : x\r\nContent-Length: 0\r\n\r\n"))
	for _, url := range []string{plain, secure} {
		l := start(t, robots{}, []*httptest.Server{cert}).leg(url)
		l.send("GET @/x HTTP/1.1\r\nHost: #\r\n\r\n")
		res, _ := l.answer("GET")
		if got := res.Header["X"]; len(got) != 2 || res.Header["Keep-Alive"] != nil {
			t.Errorf("%v", res.Header)
		}
	}
}

// A connection on which more came than was asked for is not used again.
func TestConnectionWithMoreThanAnAnswerIsClosed(t *testing.T) {
	closed := make(chan struct{}, 1)
	plain, secure, cert := rawServers(t, func(c net.Conn) {
		_, _ = readHead(c)
		_, _ = io.WriteString(c, ok+"Content-Length: 5\r\n\r\nhello"+poison)
		_, _ = io.Copy(io.Discard, c)
		closed <- struct{}{}
	})
	for _, url := range []string{plain, secure} {
		l := start(t, robots{}, []*httptest.Server{cert}).leg(url)
		for range 3 {
			l.send("GET @/x HTTP/1.1\r\nHost: #\r\n\r\n")
			if _, body := l.answer("GET"); body != "hello" {
				t.Errorf("%q", body)
			}
			<-closed
		}
	}
}
