package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"heed/policy"
)

// httpConn is a connection on which net/http reads HTTP/1 requests. net/http
// answers what it cannot read with a bare 400 of its own, and no handler hears
// of it; httpConn sees that answer go out, replaces it by one that says what is
// wrong, and records it.
type httpConn struct {
	net.Conn
	p       *Proxy
	client  *clientConn // the tunnel it came out of; nil outside one
	serving atomic.Bool // from the handler's first line until its answer is out
	head    []byte      // the beginning of the request that is being read
	since   time.Time   // when that began
}

// headKept bounds what is remembered of a request that may turn out malformed:
// enough to name its target.
const headKept = 4 << 10

func (c *httpConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.serving.Load() {
		if len(c.head) == 0 {
			c.since = time.Now()
		}
		c.head = append(c.head, b[:min(n, headKept-len(c.head))]...)
	}
	return n, err
}

func (c *httpConn) Write(b []byte) (int, error) {
	if c.serving.Load() || !bytes.HasPrefix(b, []byte("HTTP/1.1 ")) {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(c.explain(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// CloseWrite lets net/http linger, so that a refusal is not lost to a reset.
func (c *httpConn) CloseWrite() error { return closeWrite(c.Conn) }

// idle is told that an answer is out and the next request may come.
func (c *httpConn) idle() {
	c.head = c.head[:0]
	c.serving.Store(false)
}

// explain turns net/http's own answer into heed's, and records the exchange.
func (c *httpConn) explain(answer []byte) []byte {
	status, said := parseAnswer(answer)
	c.p.active.Add(1)
	defer c.p.active.Add(-1)
	method, target, fault := diagnose(c.head)
	if said != "" {
		fault = said
	}
	x := &exchange{p: c.p, rec: Record{
		Time: c.since, ID: c.p.ids.next(), Event: EventExchange, Method: method, URL: c.absolute(target),
		Client: c.peer(), Enforced: !c.p.monitor, Intercepted: c.client != nil, Status: status,
	}}
	reason, title := policy.ReasonBadRequest, http.StatusText(status)
	if status == http.StatusRequestHeaderFieldsTooLarge {
		reason = policy.ReasonLimit
		fault = fmt.Sprintf("the header section is larger than limits.header_bytes (%d bytes)", c.p.headerBytes)
	}
	x.fail(reason, fmt.Errorf("%s", fault))
	res := x.answer(&http.Request{Method: method, Header: http.Header{}}, refusal{
		status: status, token: "http_request_error", title: title, detail: fault,
	})
	res.Header["Date"] = []string{time.Now().UTC().Format(http.TimeFormat)}
	res.Close = true
	var out bytes.Buffer
	_ = res.Write(&out) // a buffer takes everything
	x.rec.ResponseBytes = res.ContentLength
	x.rec.Duration = time.Since(c.since)
	c.p.onRecord(&x.rec)
	return out.Bytes()
}

func (c *httpConn) peer() addrPort {
	if c.client != nil {
		return c.client.addr
	}
	return parseAddr(c.RemoteAddr().String())
}

// absolute completes a target in origin form by the tunnel it came out of.
func (c *httpConn) absolute(target string) string {
	if c.client != nil && strings.HasPrefix(target, "/") {
		target = c.client.origin.String() + target
	}
	return withoutUserinfo(target)
}

// parseAnswer reads the status of an answer of net/http's own, and the reason
// that it gives in some of them ("400 Bad Request: missing required Host header").
func parseAnswer(answer []byte) (status int, said string) {
	line, _, _ := bytes.Cut(answer, []byte("\r\n"))
	_, rest, _ := strings.Cut(string(line), " ")
	code, text, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if err != nil {
		status = http.StatusBadRequest
	}
	_, said, _ = strings.Cut(text, ": ")
	return status, said
}

// diagnose says what is wrong with a request that net/http did not accept.
func diagnose(head []byte) (method, target, fault string) {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	method, rest, _ := strings.Cut(strings.TrimRight(string(line), "\r"), " ")
	target, _, _ = strings.Cut(rest, " ")
	if len(method) > 32 || strings.ContainsFunc(method, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", "", "the request line is not HTTP"
	}
	if _, err := url.ParseRequestURI(target); err != nil && method != http.MethodConnect {
		if inner, ok := err.(*url.Error); ok { //nolint:errorlint // the type is what net/url documents
			err = inner.Err
		}
		return method, target, "the request target cannot be read: " + err.Error()
	}
	if _, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head))); err != nil {
		return method, target, "the request cannot be read: " + err.Error()
	}
	return method, target, "the request cannot be read"
}

// withoutUserinfo removes user and password from a target that may be malformed.
func withoutUserinfo(target string) string {
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok {
		return target
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		rest = rest[at+1:]
	}
	return scheme + "://" + rest
}
