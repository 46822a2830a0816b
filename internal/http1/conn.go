package http1

import (
	"bufio"
	"container/list"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// conn is a connection to an origin. One exchange at a time has it.
type conn struct {
	net.Conn
	client *Client
	key    key
	br     *bufio.Reader
	bw     *bufio.Writer
	peek   *peeker
	abort  func() // ends whoever reads or writes

	room  int64 // octets that header sections may still take; -1: not in one
	heard bool  // something of the answer has come
	fresh bool  // no request has been sent on it

	since time.Time     // when it became idle
	place *list.Element // in the pool
}

func newConn(client *Client, k key, c net.Conn) *conn {
	out := &conn{Conn: c, client: client, key: k, room: -1}
	out.br, out.bw = bufio.NewReader(answerReader{out}), bufio.NewWriter(c)
	socket := c
	for {
		secure, ok := socket.(*tls.Conn)
		if !ok {
			break
		}
		socket = secure.NetConn() // inside another, where a proxy is reached over TLS
	}
	// Not by way of TLS: its farewell would have to be taken by the origin, which could
	// see in it the end of what was asked for, and answer.
	out.abort = func() { _ = socket.Close() }
	out.peek = newPeeker(socket)
	return out
}

// quiet reports whether nothing has come that nobody asked for. Under TLS that may
// be no more than a session ticket, which is rare on a connection that has been
// read from, and costs a new one.
func (c *conn) quiet() bool { return c.br.Buffered() == 0 && c.peek.nothing() }

// drained reports whether nothing has been read beyond the answer. TLS reads ahead
// of the record that is asked for, and hands over what it has without looking at the
// socket, whose time is up.
func (c *conn) drained() bool {
	if _, ok := c.Conn.(*tls.Conn); ok && c.br.Buffered() == 0 {
		_ = c.SetReadDeadline(time.Unix(1, 0))
		if _, err := c.br.Peek(1); !errors.Is(err, os.ErrDeadlineExceeded) || c.SetReadDeadline(time.Time{}) != nil {
			return false
		}
	}
	return c.br.Buffered() == 0
}

// justOpened reports whether the connection has just been opened: what has come under TLS
// then is session tickets, and there has been no time to grow stale.
func (c *conn) justOpened() bool { return c.fresh && time.Since(c.since) < sweepEvery }

// answerReader bounds what is read of header sections.
type answerReader struct{ c *conn }

func (r answerReader) Read(b []byte) (int, error) {
	c := r.c
	if c.room == 0 {
		return 0, ErrHeaderTooLarge
	}
	if c.room > 0 && int64(len(b)) > c.room {
		b = b[:c.room]
	}
	n, err := c.Conn.Read(b)
	if c.room > 0 {
		c.room -= int64(n)
	}
	c.heard = c.heard || n > 0
	return n, err
}

// readHead reads up to the final answer's content, and tells the context's Interim
// what comes before. proceed is called for a 100.
func (c *conn) readHead(r *http.Request, proceed func()) (*http.Response, error) {
	c.room = c.client.options.HeaderBytes
	defer func() { c.room = -1 }()
	for {
		if _, err := c.br.Peek(1); err != nil {
			return nil, err // io.EOF only when nothing has come
		}
		res, err := http.ReadResponse(c.br, r)
		if err != nil && c.room == 0 {
			err = ErrHeaderTooLarge // however the piece of it was read
		}
		if err != nil {
			return nil, err
		}
		if res.ProtoMajor != 1 {
			return nil, fmt.Errorf("an answer in %s on a connection of HTTP/1.1", res.Proto)
		}
		switch {
		case res.StatusCode == http.StatusContinue:
			proceed()
		case res.StatusCode >= 100 && res.StatusCode < 200 && res.StatusCode != http.StatusSwitchingProtocols:
			if i, ok := r.Context().Value(InterimKey).(Interim); ok {
				i.Interim(1, res.StatusCode, res.Header)
			}
		default:
			return res, nil
		}
	}
}
