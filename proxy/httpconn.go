package proxy

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
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
	head    requestHead
	fresh   bool // no request has come yet
	last    bool // what follows the answer cannot be told from the rest of an upload

	from  netip.Addr // what it is counted by, when it is the client's own and not a tunnel's
	limit string     // the setting by which it is one too many; "" when it is not
	until time.Time  // when such a connection ends
}

func (c *httpConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.head.read(b[:n])
	if s, ok := c.Conn.(*tls.Conn); ok && err != nil && c.client == nil && !s.ConnectionState().HandshakeComplete {
		err = c.noTLS(err)
	}
	return n, err
}

func (c *httpConn) Write(b []byte) (int, error) {
	if limit := c.p.idleTimeout; limit > 0 { // for this much of an answer, not for all of it
		_ = c.Conn.SetWriteDeadline(time.Now().Add(limit))
	}
	if c.serving.Load() || !bytes.HasPrefix(b, []byte("HTTP/1.")) {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(c.explain(b)); err != nil {
		return 0, err
	}
	c.linger() // net/http closes now
	return len(b), nil
}

// CloseWrite lets net/http linger, so that a refusal is not lost to a reset.
func (c *httpConn) CloseWrite() error { return closeWrite(c.Conn) }

// begin is told that a request has come to its handler. It reports whether the
// connection must end with the answer: the request was framed twice, by length and
// by chunks (RFC 9112 6.1).
func (c *httpConn) begin(r *http.Request) bool {
	c.serving.Store(true)
	hasLength := c.head.served(r.ContentLength)
	return hasLength && r.TransferEncoding != nil
}

// idle is told that an answer is out and the next request may come. It does not
// return when none may: net/http would take the rest of the body for one.
func (c *httpConn) idle() {
	if c.last {
		c.linger()
		panic(http.ErrAbortHandler)
	}
	c.head.idle()
	c.serving.Store(false)
}

// leave counts the client's connection out. Whoever closes it calls it, once.
func (c *httpConn) leave() { c.p.gate.leave(c.from, c.limit) }

// SetReadDeadline lets a connection that is one too many have no more than its time.
func (c *httpConn) SetReadDeadline(t time.Time) error {
	if c.limit != "" && (t.IsZero() || t.After(c.until)) {
		t = c.until
	}
	return c.Conn.SetReadDeadline(t)
}

// linger takes what the client is still sending, for a moment: closing would
// reset the connection and could cost the client its answer.
func (c *httpConn) linger() {
	_ = c.CloseWrite()
	_ = c.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.CopyN(io.Discard, c.Conn, lingerSize)
}

const (
	lingerTime = 500 * time.Millisecond
	lingerSize = 256 << 10
)

// explain turns net/http's own answer into heed's, and records the exchange.
func (c *httpConn) explain(answer []byte) []byte {
	status, said := parseAnswer(answer)
	head, _ := c.head.pending()
	method, target, fault := diagnose(head)
	if said != "" {
		fault = said
	}
	return c.refusal(status, method, target, fault)
}

// refusal is an answer to what never became a request, and records it.
func (c *httpConn) refusal(status int, method, target, fault string) []byte {
	c.p.active.Add(1)
	defer c.p.active.Add(-1)
	_, since := c.head.pending()
	x := &exchange{p: c.p, set: c.p.settings.Load(), rec: Record{
		Time: since, ID: c.p.ids.next(), Event: EventExchange, Method: method, URL: c.client.absolute(target),
		Client: c.peer(), Intercepted: c.client != nil, Status: status,
	}}
	x.identify((&link{client: c.client}).user())
	reason, title := policy.ReasonBadRequest, http.StatusText(status)
	if status == http.StatusRequestHeaderFieldsTooLarge {
		reason = policy.ReasonLimit
		fault = fmt.Sprintf("the header section is larger than limits.header_bytes (%d bytes)", c.p.headerBytes)
	}
	x.fail(reason, errors.New(fault))
	res := x.answer(&http.Request{Method: method, Header: http.Header{}}, refusal{
		status: status, token: "http_request_error", title: title, detail: fault,
	})
	res.Header["Date"] = []string{time.Now().UTC().Format(http.TimeFormat)}
	res.Close = true
	var out bytes.Buffer
	_ = res.Write(&out) // a buffer takes everything
	if method != http.MethodHead {
		x.rec.ResponseBytes = res.ContentLength
	}
	x.rec.Duration = time.Since(since)
	c.p.record(&x.rec)
	return out.Bytes()
}

func (c *httpConn) peer() netip.AddrPort {
	if c.client != nil {
		return c.client.addr
	}
	return parseAddr(c.RemoteAddr().String())
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

// diagnose says what is wrong with a request that net/http did not accept. head
// is what came of it, cut off at headKept; nil when that is not known.
func diagnose(head []byte) (method, target, fault string) {
	line, _, complete := bytes.Cut(bytes.TrimLeft(head, "\r\n"), []byte("\n"))
	method, rest, _ := strings.Cut(strings.TrimRight(string(line), "\r"), " ")
	target, _, _ = strings.Cut(rest, " ")
	fault = "the request cannot be read"
	if method == "" {
		return "", "", fault
	}
	if len(method) > 32 || strings.ContainsFunc(method, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", "", "the request line is not HTTP"
	}
	if !complete {
		return method, target, fault
	}
	if target == "" {
		return "", "", "the request line is not HTTP"
	}
	var inner *url.Error
	if _, err := url.ParseRequestURI(target); method != http.MethodConnect && errors.As(err, &inner) {
		return method, target, "the request target cannot be read: " + inner.Err.Error()
	}
	if _, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head))); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		fault += ": " + err.Error()
	}
	return method, target, fault
}

// withoutUserinfo removes user and password from a target that may be malformed.
func withoutUserinfo(target string) string {
	if strings.HasPrefix(target, "/") {
		return target
	}
	start := 0 // the target of a CONNECT has no scheme
	if i := strings.Index(target, "://"); i >= 0 {
		start = i + len("://")
	}
	authority := target[start:]
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	return target[:start] + target[start+strings.LastIndexByte(authority, '@')+1:]
}
