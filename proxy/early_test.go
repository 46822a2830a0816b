package proxy_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"testing"
	"time"
)

// An origin that answers before it has read the upload gets the whole upload,
// however slowly the client sends it and however the answer ends.
func TestEarlyAnswerGetsTheWholeUpload(t *testing.T) {
	const pieces, size = 10, 10_000
	for _, answer := range []struct{ name, text string }{
		{"with a length", ok + "Content-Length: 2\r\n\r\nok"},
		{"in chunks", okChunks + "\r\n2\r\nok\r\n0\r\n\r\n"},
		{"without content", "HTTP/1.1 204 No Content\r\n\r\n"},
		{"of no octets", ok + "Content-Length: 0\r\n\r\n"},
		{"that refuses", "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"},
		{"that closes", ok + "Connection: close\r\nContent-Length: 2\r\n\r\nok"},
	} {
		for _, chunked := range []bool{false, true} {
			for _, p := range paths {
				if p.http2 && answer.name == "that refuses" {
					continue // this client stops sending then
				}
				t.Run(fmt.Sprintf("%s, chunked=%v, %s", answer.name, chunked, p.name), func(t *testing.T) {
					t.Parallel()
					got := make(chan int64, 1)
					plain, secure, cert := rawServers(t, func(c net.Conn) {
						head, err := readHead(c)
						if err != nil {
							return
						}
						_, _ = io.WriteString(c, answer.text)
						content := io.LimitReader(c, pieces*size)
						if strings.Contains(head, "chunked") {
							content = httputil.NewChunkedReader(c)
						}
						n, _ := io.Copy(io.Discard, content)
						got <- n
					})
					h := start(t, robots{}, []*httptest.Server{cert})
					url := map[bool]string{false: plain, true: secure}[p.secure] + "/x"
					send := func(w io.Writer, piece string) {
						for range pieces {
							time.Sleep(20 * time.Millisecond) // the client is slow
							_, _ = io.WriteString(w, piece)
						}
					}
					if p.http2 {
						body, w := io.Pipe()
						req, _ := http.NewRequest("POST", url, body)
						if req.ContentLength = pieces * size; chunked {
							req.ContentLength = -1
						}
						go func() {
							send(w, strings.Repeat("x", size))
							_ = w.Close()
						}()
						res, err := h.client(true).Do(req)
						if err != nil {
							t.Fatal(err)
						}
						defer res.Body.Close()
						_, _ = io.Copy(io.Discard, res.Body)
					} else {
						l := h.leg(strings.TrimSuffix(url, "/x"))
						framing, piece, last := fmt.Sprintf("Content-Length: %d", pieces*size), strings.Repeat("x", size), ""
						if chunked {
							framing, piece, last = "Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n", size, piece), "0\r\n\r\n"
						}
						l.send("POST @/x HTTP/1.1\r\nHost: #\r\n" + framing + "\r\n\r\n")
						l.head("POST") // the answer has come before the content
						send(l, piece)
						l.send(last)
					}
					if n := <-got; n != pieces*size {
						t.Errorf("the origin got %d octets of %d", n, pieces*size)
					}
					if r := recorded(h, 1); r.RequestBytes != pieces*size || r.Err != "" {
						t.Errorf("record %+v", r)
					}
				})
			}
		}
	}
}
