package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// client1 is a connection that speaks HTTP/1.1, one request after the other.
type client1 struct {
	s       *session
	conn    net.Conn
	r       *bufio.Reader
	request []byte
	used    bool // it has had an answer
	silent  bool // nothing came of an answer to the latest request
}

// newClient1 connects for requests to host.
func (s *session) newClient1(host string) (*client1, error) {
	conn, r, err := s.dial(host)
	if err != nil {
		return nil, err
	}
	target := s.w.Path
	if s.w.Via == Plain && s.t.Proxy != "" {
		target = "http://" + host + s.w.Path
	}
	request := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: load/1.0\r\nAccept: */*\r\n\r\n", target, host)
	return &client1{s: s, conn: conn, r: r, request: request}, nil
}

func (c *client1) close() { c.s.close(c.conn) }

// head is what of an answer's header section says how long it is.
type head struct {
	status  int
	length  int64 // -1: not said
	chunked bool
	again   bool // the connection is good for another request
}

var (
	contentLength    = []byte("content-length:")
	transferEncoding = []byte("transfer-encoding:")
	connection       = []byte("connection:")
	closing          = []byte("close")
	chunked          = []byte("chunked")
)

// exchange sends the request, reads the answer, and reports whether the
// connection stays.
func (c *client1) exchange() (again bool, err error) {
	c.silent = true
	if _, err := c.conn.Write(c.request); err != nil {
		return false, err
	}
	if _, err := c.r.Peek(1); err != nil {
		return false, err
	}
	c.silent, c.used = false, true
	h, err := c.readHead()
	if err != nil {
		return false, err
	}
	if h.status != 200 {
		said, _ := c.r.Peek(c.r.Buffered())
		return false, fmt.Errorf("status %d: %.300q", h.status, said)
	}
	n, err := c.readBody(&h)
	if err == nil && n != c.s.w.Size {
		err = fmt.Errorf("%d octets, not %d", n, c.s.w.Size)
	}
	return h.again, err
}

func (c *client1) readHead() (head, error) {
	h := head{length: -1}
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return h, err
	}
	if h.status, err = statusOf(line); err != nil {
		return h, err
	}
	h.again = bytes.HasPrefix(line, []byte("HTTP/1.1"))
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return h, err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			return h, nil
		}
		switch line[0] | 0x20 { // most fields are none of the three
		case 'c':
			if value, ok := field(line, contentLength); ok {
				if h.length, err = strconv.ParseInt(string(value), 10, 64); err != nil {
					return h, err
				}
			} else if value, ok := field(line, connection); ok && bytes.EqualFold(value, closing) {
				h.again = false
			}
		case 't':
			if value, ok := field(line, transferEncoding); ok && bytes.EqualFold(value, chunked) {
				h.chunked = true
			}
		}
	}
}

// field returns the value when the line is of the field named.
func field(line, name []byte) ([]byte, bool) {
	if len(line) < len(name) || !bytes.EqualFold(line[:len(name)], name) {
		return nil, false
	}
	return bytes.TrimSpace(line[len(name):]), true
}

// readBody reads the content and returns how long it was.
func (c *client1) readBody(h *head) (int64, error) {
	switch {
	case h.chunked:
		return c.readChunks()
	case h.length >= 0:
		return h.length, c.discard(h.length)
	}
	h.again = false
	n, err := io.Copy(io.Discard, c.r)
	c.s.progress(n)
	return n, err
}

func (c *client1) readChunks() (int64, error) {
	for total := int64(0); ; {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return total, err
		}
		size, _, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(";"))
		n, err := strconv.ParseInt(string(size), 16, 64)
		if err != nil {
			return total, err
		}
		if err := c.discard(n); err != nil {
			return total, err
		}
		total += n
		if end, err := c.r.ReadSlice('\n'); err != nil || len(bytes.TrimRight(end, "\r\n")) > 0 {
			return total, errors.Join(err, errors.New("a chunk or the trailer does not end"))
		}
		if n == 0 {
			return total, nil
		}
	}
}

// discard reads n octets over.
func (c *client1) discard(n int64) error {
	for n > 0 {
		part := int(min(n, 256<<10))
		if _, err := c.r.Discard(part); err != nil {
			return err
		}
		c.s.progress(int64(part))
		n -= int64(part)
	}
	return nil
}
