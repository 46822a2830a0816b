package proxy_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"heed/proxy"
)

const (
	xHead    = "POST @/x HTTP/1.1\r\nHost: #\r\n"
	xGet     = "GET @/x HTTP/1.1\r\nHost: #\r\n"
	smuggled = "GET @/smuggled HTTP/1.1\r\nHost: #\r\n\r\n"
	chunks   = "\r\n5\r\nhello\r\n0\r\n\r\n"
)

// smuggling is what readers disagree on: where a request ends, or what it says.
// status is heed's or the origin's (200); body is what the origin gets then. After
// an answer that leaves the connection open, another request follows.
var smuggling = []struct {
	name, text string
	status     int
	body       string
}{
	{"length: empty", xHead + "Content-Length:\r\n\r\nhello" + smuggled, 400, ""},
	{"length: signed", xHead + "Content-Length: +5\r\n\r\nhello" + smuggled, 400, ""},
	{"length: negative", xHead + "Content-Length: -5\r\n\r\nhello" + smuggled, 400, ""},
	{"length: hexadecimal", xHead + "Content-Length: 0x5\r\n\r\nhello" + smuggled, 400, ""},
	{"length: exponent", xHead + "Content-Length: 1e1\r\n\r\nhello" + smuggled, 400, ""},
	{"length: fraction", xHead + "Content-Length: 5.0\r\n\r\nhello" + smuggled, 400, ""},
	{"length: underscore", xHead + "Content-Length: 0_5\r\n\r\nhello" + smuggled, 400, ""},
	{"length: list of equals", xHead + "Content-Length: 5, 5\r\n\r\nhello" + smuggled, 400, ""},
	{"length: list", xHead + "Content-Length: 5, 0\r\n\r\nhello" + smuggled, 400, ""},
	{"length: two numbers", xHead + "Content-Length: 5 0\r\n\r\nhello" + smuggled, 400, ""},
	{"length: twice, different", xHead + "Content-Length: 0\r\nContent-Length: 5\r\n\r\nhello" + smuggled, 400, ""},
	{"length: twice, the same", xHead + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"},
	{"length: leading zeros", xHead + "Content-Length: 0005\r\n\r\nhello", 200, "hello"},
	{"length: white space around", xHead + "Content-Length: \t 5 \t\r\n\r\nhello", 200, "hello"},
	{"length: too large", xHead + "Content-Length: 99999999999999999999\r\n\r\nhello" + smuggled, 400, ""},
	{"length: 2^63", xHead + "Content-Length: 9223372036854775808\r\n\r\nhello" + smuggled, 400, ""},
	{"length: parameter", xHead + "Content-Length: 5;x\r\n\r\nhello" + smuggled, 400, ""},
	{"length: space before the colon", xHead + "Content-Length : 5\r\n\r\nhello" + smuggled, 400, ""},
	{"length: tab before the colon", xHead + "Content-Length\t: 5\r\n\r\nhello" + smuggled, 400, ""},
	{"length: NUL", xHead + "Content-Length: 5\x00\r\n\r\nhello" + smuggled, 400, ""},
	{"length: vertical tab", xHead + "Content-Length: \x0b5\r\n\r\nhello" + smuggled, 400, ""},
	{"length: folded", xHead + "Content-Length:\r\n 5\r\n\r\nhello", 200, "hello"},
	{"length: non-ASCII digit", xHead + "Content-Length: \xd9\xa5\r\n\r\nhello" + smuggled, 400, ""},
	{"length: named by Connection", xHead + "Connection: content-length\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"},
	{"length: of a GET whose content is a request", xGet + "Content-Length: 38\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: evil\r\n\r\n", 200, "GET /smuggled HTTP/1.1\r\nHost: evil\r\n\r\n"},

	{"coding: beside a length", xHead + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n" + chunks + smuggled, 200, "hello"},
	{"coding: before a length", xHead + "Transfer-Encoding: chunked\r\nContent-Length: 900\r\n" + chunks + smuggled, 200, "hello"},
	{"coding: in capitals", xHead + "Transfer-Encoding: CHUNKED\r\n" + chunks, 200, "hello"},
	{"coding: unknown", xHead + "Transfer-Encoding: xchunked\r\n" + chunks + smuggled, 501, ""},
	{"coding: identity", xHead + "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello" + smuggled, 501, ""},
	{"coding: chunked, identity", xHead + "Transfer-Encoding: chunked, identity\r\n" + chunks + smuggled, 501, ""},
	{"coding: identity, chunked", xHead + "Transfer-Encoding: identity, chunked\r\n" + chunks + smuggled, 501, ""},
	{"coding: gzip, chunked", xHead + "Transfer-Encoding: gzip, chunked\r\n" + chunks + smuggled, 501, ""},
	{"coding: twice", xHead + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n" + chunks + smuggled, 501, ""},
	{"coding: one empty, one not", xHead + "Transfer-Encoding:\r\nTransfer-Encoding: chunked\r\n" + chunks + smuggled, 501, ""},
	{"coding: empty, beside a length", xHead + "Transfer-Encoding:\r\nContent-Length: 5\r\n\r\nhello" + smuggled, 501, ""},
	{"coding: comma after", xHead + "Transfer-Encoding: chunked,\r\n" + chunks + smuggled, 501, ""},
	{"coding: parameter", xHead + "Transfer-Encoding: chunked;q=1\r\n" + chunks + smuggled, 501, ""},
	{"coding: quoted", xHead + "Transfer-Encoding: \"chunked\"\r\n" + chunks + smuggled, 501, ""},
	{"coding: vertical tab", xHead + "Transfer-Encoding: \x0bchunked\r\n" + chunks + smuggled, 400, ""},
	{"coding: NUL", xHead + "Transfer-Encoding: chunked\x00\r\n" + chunks + smuggled, 400, ""},
	{"coding: not ASCII", xHead + "Transfer-Encoding: \xffchunked\r\n" + chunks + smuggled, 501, ""},
	{"coding: space before the colon", xHead + "Transfer-Encoding : chunked\r\nContent-Length: 5\r\n" + chunks + smuggled, 400, ""},
	{"coding: tab before the colon", xHead + "Transfer-Encoding\t: chunked\r\nContent-Length: 5\r\n" + chunks + smuggled, 400, ""},
	{"coding: folded", xHead + "Transfer-Encoding:\r\n chunked\r\n" + chunks, 200, "hello"},
	{"coding: hidden in a fold", xHead + "X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"},
	{"coding: behind a bare CR", xHead + "X: y\rTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello" + smuggled, 400, ""},
	{"coding: underscore in the name", xHead + "Transfer_Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"},
	{"coding: named by Connection", xHead + "Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n" + chunks, 200, "hello"},
	{"coding: HTTP/1.0", "POST @/x HTTP/1.0\r\nHost: #\r\nConnection: keep-alive\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n" + chunks + smuggled, 200, "5\r\nhe"}, // the connection ends

	{"chunk: extension", xHead + "Transfer-Encoding: chunked\r\n\r\n5;a=b;c=\"d\"\r\nhello\r\n0;e\r\n\r\n", 200, "hello"},
	{"chunk: extension that is a request", xHead + "Transfer-Encoding: chunked\r\n\r\n5;" + smuggled + "hello\r\n0\r\n\r\n", 400, ""},
	{"chunk: bare LF in an extension", xHead + "Transfer-Encoding: chunked\r\n\r\n5;\nhello\r\n0\r\n\r\n" + smuggled, 400, ""},
	{"chunk: endless extension", xHead + "Transfer-Encoding: chunked\r\n\r\n5;" + strings.Repeat("x", 8<<10) + "\r\nhello\r\n0\r\n\r\n" + smuggled, 400, ""},
	{"chunk: 0x", xHead + "Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n" + smuggled, 400, ""},
	{"chunk: signed", xHead + "Transfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n" + smuggled, 400, ""},
	{"chunk: negative", xHead + "Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n" + smuggled, 400, ""},
	{"chunk: space before", xHead + "Transfer-Encoding: chunked\r\n\r\n 5\r\nhello\r\n0\r\n\r\n" + smuggled, 400, ""},
	{"chunk: space after", xHead + "Transfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n", 200, "hello"},
	{"chunk: no size", xHead + "Transfer-Encoding: chunked\r\n\r\n\r\nhello\r\n0\r\n\r\n" + smuggled, 400, ""},
	{"chunk: too large", xHead + "Transfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n" + smuggled, 400, ""},
	{"chunk: leading zeros", xHead + "Transfer-Encoding: chunked\r\n\r\n0005\r\nhello\r\n0\r\n\r\n", 200, "hello"},
	{"chunk: underscore", xHead + "Transfer-Encoding: chunked\r\n\r\n0_5\r\nhello\r\n0\r\n\r\n" + smuggled, 400, ""},
	{"chunk: longer than it says", xHead + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n" + smuggled, 400, ""},
	{"chunk: no end of line after", xHead + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n" + smuggled, 400, ""},
	{"chunk: lines end with LF", xHead + "Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n" + smuggled, 400, ""},
	{"chunk: lines end with CR", xHead + "Transfer-Encoding: chunked\r\n\r\n5\rhello\r0\r\r" + smuggled, 400, ""},
	{"chunk: NUL in the size", xHead + "Transfer-Encoding: chunked\r\n\r\n5\x00\r\nhello\r\n0\r\n\r\n" + smuggled, 400, ""},
	{"trailer: framing and routing", xHead + "Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\nHost: evil\r\n\r\n", 200, "hello"},
	{"trailer: announced framing", xHead + "Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n5\r\nhello\r\n0\r\nContent-Length: 9\r\n\r\n" + smuggled, 400, ""},
	{"trailer: no colon", xHead + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX\r\n\r\n" + smuggled, 400, ""},
	{"trailer: folded", xHead + "Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5\r\nhello\r\n0\r\nX: a\r\n b\r\n\r\n", 200, "hello"},

	{"line: all end with LF", "POST @/x HTTP/1.1\nHost: #\nContent-Length: 5\n\nhello", 200, "hello"},
	{"line: LF CR", "GET @/x HTTP/1.1\n\rHost: #\r\n\r\n" + smuggled, 400, ""},
	{"line: CR CR LF", "GET @/x HTTP/1.1\r\nHost: #\r\r\n\r\n" + smuggled, 400, ""},
	{"line: CR alone", "GET @/x HTTP/1.1\rHost: #\r\r" + smuggled, 400, ""},
	{"line: empty before the request", "\r\n\r\n" + xGet + "\r\n" + smuggled, 400, ""},
	{"line: CR before the request", "\r" + xGet + "\r\n" + smuggled, 400, ""},
	{"line: NUL before the request", "\x00" + xGet + "\r\n" + smuggled, 400, ""},
	{"line: space before the request", " " + xGet + "\r\n" + smuggled, 400, ""},
	{"line: two spaces", "GET  @/x HTTP/1.1\r\nHost: #\r\n\r\n" + smuggled, 400, ""},
	{"line: tabs", "GET\t@/x\tHTTP/1.1\r\nHost: #\r\n\r\n" + smuggled, 400, ""},
	{"line: space in the target", "GET @/x y HTTP/1.1\r\nHost: #\r\n\r\n" + smuggled, 400, ""},
	{"line: request in the target", "GET @/x\rHTTP/1.1 HTTP/1.1\r\nHost: #\r\n\r\n" + smuggled, 400, ""},
	{"line: space after the version", "GET @/x HTTP/1.1 \r\nHost: #\r\n\r\n" + smuggled, 400, ""},
	{"line: no version", "GET @/x\r\nHost: #\r\n\r\n" + smuggled, 400, ""},
	{"line: HTTP/1.2", "GET @/x HTTP/1.2\r\nHost: #\r\n\r\n", 200, ""},
	{"line: HTTP/1.10", "GET @/x HTTP/1.10\r\nHost: #\r\n\r\n" + smuggled, 400, ""},
	{"line: http/1.1", "GET @/x http/1.1\r\nHost: #\r\n\r\n" + smuggled, 400, ""},
	{"line: control character in the method", "G\x01T @/x HTTP/1.1\r\nHost: #\r\n\r\n" + smuggled, 400, ""},
	{"field: first line folded", "GET @/x HTTP/1.1\r\n X: y\r\nHost: #\r\n\r\n" + smuggled, 400, ""},
	{"field: no colon", xGet + "X\r\n\r\n" + smuggled, 400, ""},
	{"field: no name", xGet + ": y\r\n\r\n" + smuggled, 400, ""},
	{"field: space in the name", xGet + "X Y: z\r\n\r\n" + smuggled, 400, ""},
	{"field: control character in the name", xGet + "X\x01: z\r\n\r\n" + smuggled, 400, ""},
	{"field: not ASCII", xGet + "X\xc3\xa9: z\r\n\r\n" + smuggled, 400, ""},
	{"field: NUL in the value", xGet + "X: a\x00b\r\n\r\n" + smuggled, 400, ""},
	{"field: escape in the value", xGet + "X: a\x1bb\r\n\r\n" + smuggled, 400, ""},
	{"field: request in a fold", xGet + "X: y\r\n GET /smuggled HTTP/1.1\r\n Host: evil\r\n\r\n", 200, ""},
	{"field: over-long", xGet + "X: " + strings.Repeat("y", 80<<10) + "\r\n\r\n" + smuggled, 431, ""},
	{"field: over-many", xGet + strings.Repeat("X: y\r\n", 20<<10) + "\r\n" + smuggled, 431, ""},
	{"field: over-long name", xGet + strings.Repeat("y", 80<<10) + ": x\r\n\r\n" + smuggled, 431, ""},
	{"target: over-long", "GET @/" + strings.Repeat("x", 80<<10) + " HTTP/1.1\r\nHost: #\r\n\r\n" + smuggled, 431, ""},
	{"Host: none", "GET @/x HTTP/1.1\r\n\r\n" + smuggled, 400, ""},
	{"Host: two", xGet + "Host: #\r\n\r\n" + smuggled, 400, ""},
	{"Expect: and a request for content", xHead + "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n", 200, ""},
}

// What an origin gets is well-formed and one message, however odd the request.
func TestNoRequestIsSmuggled(t *testing.T) {
	for _, p := range paths[:2] {
		t.Run(p.name, func(t *testing.T) {
			o := &strictOrigin{}
			plain, secure, cert := rawServers(t, o.serve)
			h := start(t, robots{}, []*httptest.Server{cert}, func(o *proxy.Options) { o.HeaderBytes = 64 << 10 })
			url := map[bool]string{false: plain, true: secure}[p.secure]
			for _, tc := range smuggling {
				t.Run(tc.name, func(t *testing.T) {
					o.reset()
					l := h.leg(url)
					l.t = t
					_ = l.SetDeadline(time.Now().Add(20 * time.Second))
					go func() { // heed may answer before it has read all
						_, _ = io.WriteString(l, strings.NewReplacer("@", l.prefix, "#", l.host).Replace(tc.text))
					}()
					res := l.head("POST")
					for res.StatusCode == 100 {
						res = l.head("POST")
					}
					_, _ = io.Copy(io.Discard, res.Body)
					if res.StatusCode != tc.status || res.StatusCode != 200 && res.Header.Get("Proxy-Status") == "" {
						t.Errorf("%d %v, want %d", res.StatusCode, res.Header, tc.status)
					}
					want := []string{}
					if tc.status == 200 {
						want = append(want, "/x "+tc.body)
					}
					if !res.Close {
						l.send("GET @/last HTTP/1.1\r\nHost: #\r\nConnection: close\r\n\r\n")
						if last, _ := l.answer("GET"); last.StatusCode != 200 {
							t.Errorf("the next request: %d", last.StatusCode)
						}
						want = append(want, "/last ")
					}
					if !l.ended() {
						t.Error("the connection goes on")
					}
					if got, bad := o.seen(); bad != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) && !(tc.status == 400 && len(got) == 0) {
						t.Errorf("the origin got %.500q, want %.500q; %v", got, want, bad)
					}
				})
			}
		})
	}
}

// strictOrigin answers what is well-formed, and notes the rest.
type strictOrigin struct {
	mu  sync.Mutex
	got []string
	bad error
}

func (o *strictOrigin) reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.got, o.bad = nil, nil
}

func (o *strictOrigin) seen() ([]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.got, o.bad
}

func (o *strictOrigin) serve(c net.Conn) {
	var b []byte
	buf := make([]byte, 64<<10)
	for {
		m, rest, err := parseWire(b, wireRequest)
		if err == nil {
			o.mu.Lock()
			target := strings.Fields(m.line)[1]
			o.got = append(o.got, target+" "+m.body)
			o.mu.Unlock()
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			b = rest
			continue
		}
		if !errors.Is(err, errCut) {
			o.mu.Lock()
			o.bad = fmt.Errorf("%w in %.500q", err, b)
			o.mu.Unlock()
			return
		}
		n, err := c.Read(buf)
		if err != nil {
			return // what was cut off is no message
		}
		b = append(b, buf[:n]...)
	}
}
