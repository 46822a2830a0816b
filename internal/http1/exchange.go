package http1

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// exchange is a request and its answer on a connection. It is the body of the
// answer.
type exchange struct {
	conn   *conn
	stop   func() bool // ends the watch over the context
	body   io.Reader   // of the answer
	reuse  bool        // the origin keeps the connection
	upload *upload     // nil: the request has no content

	mu       sync.Mutex
	answered bool // the answer has come to its end
	sent     bool // and so has the request
	over     bool // the connection has been given back or closed
	spoilt   bool // the request was not sent whole
}

// exchange sends r and returns its answer. The connection finds its own way back
// into the pool, or is closed.
func (c *conn) exchange(r *http.Request) (*http.Response, error) {
	c.heard, c.fresh = false, false
	x := &exchange{conn: c, sent: true}
	x.stop = context.AfterFunc(r.Context(), c.abort)
	res, err := x.roundTrip(r)
	if err == nil {
		return res, nil
	}
	x.close()
	if x.upload != nil {
		// The connection is closed, which ends a write; what is read of the body the
		// caller ends. What has not been asked for yet is not read at all.
		x.upload.refuse()
		if fault := x.upload.fault(); fault != nil {
			err = fault
		}
	} else {
		closeBody(r)
	}
	if cause := context.Cause(r.Context()); cause != nil {
		err = cause
	}
	return nil, err
}

func (x *exchange) roundTrip(r *http.Request) (*http.Response, error) {
	c := x.conn
	if err := c.writeHead(r); err != nil {
		return nil, err
	}
	timeout := c.client.options.ResponseHeaderTimeout
	if err := c.bw.Flush(); err != nil {
		return nil, err
	}
	proceed := func() {}
	if hasBody(r) {
		x.sent = false
		x.upload = newUpload(x, r, timeout)
		proceed = x.upload.proceed
		go x.upload.run()
	} else if timeout > 0 {
		_ = c.SetReadDeadline(time.Now().Add(timeout))
	}
	res, err := c.readHead(r, proceed)
	if err == nil {
		err = r.Context().Err() // nobody waits for what came in the last moment
	}
	if err != nil {
		return nil, err
	}
	if x.upload != nil {
		x.upload.headCame()
	} else if timeout > 0 {
		_ = c.SetReadDeadline(time.Time{})
	}
	x.receive(r, res)
	return res, nil
}

// receive decides what the body of res is. An origin of HTTP/1.0 is not taken at
// its word when it offers to keep the connection: its framing is the one that may
// be faulty (RFC 9112 6.1). A 101 that nobody asked for has no content and is the
// last of its connection: no protocol is spoken there that the caller could know.
func (x *exchange) receive(r *http.Request, res *http.Response) {
	switching := res.StatusCode == http.StatusSwitchingProtocols
	x.reuse = !res.Close && res.ProtoAtLeast(1, 1) && !switching
	switch {
	case switching && r.Header["Upgrade"] != nil:
		x.stop()
		res.Body = &switched{x.conn}
	case res.Body != http.NoBody:
		x.body, res.Body = res.Body, x
	case x.upload != nil:
		x.body, res.Body = http.NoBody, x
		x.end(&x.answered)
	default:
		x.end(&x.answered)
	}
}

// Read implements io.Reader.
func (x *exchange) Read(b []byte) (int, error) {
	n, err := x.body.Read(b)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		x.end(&x.answered)
	default:
		x.close()
	}
	return n, err
}

// Close ends the exchange. What has not come yet or has not been sent yet costs
// the connection; but what has been read of a body is sent.
func (x *exchange) Close() error {
	x.mu.Lock()
	wait := x.answered && !x.sent && !x.over
	x.mu.Unlock()
	if wait {
		x.upload.await()
	}
	x.close()
	return nil
}

// end notes that one of the two directions is through. When both are, the
// connection is given back.
func (x *exchange) end(which *bool) {
	x.mu.Lock()
	*which = true
	through := x.answered && x.sent && !x.over
	if through {
		x.over = true
	}
	spoilt := x.spoilt
	x.mu.Unlock()
	if !through {
		return
	}
	// What has come beyond the answer would be taken for the next one.
	if x.stop() && x.reuse && !spoilt && x.conn.drained() {
		x.conn.client.pool.put(x.conn)
		return
	}
	_ = x.conn.Close()
}

// close closes the connection, unless it has been given back.
func (x *exchange) close() {
	x.mu.Lock()
	over := x.over
	x.over = true
	x.mu.Unlock()
	if !over {
		x.stop()
		_ = x.conn.Close()
	}
}

// switched is a connection that speaks another protocol now.
type switched struct{ *conn }

// Read implements io.Reader.
func (s *switched) Read(b []byte) (int, error) { return s.br.Read(b) }

// CloseWrite ends the sending side, where the connection can.
func (s *switched) CloseWrite() error {
	if half, ok := s.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// spoil notes that the connection cannot be used again.
func (x *exchange) spoil() {
	x.mu.Lock()
	x.spoilt = true
	x.mu.Unlock()
}
