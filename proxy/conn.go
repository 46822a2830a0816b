package proxy

import (
	"net"
	"net/netip"
	"strings"
	"sync"

	"heed/policy"
)

func parseAddr(s string) netip.AddrPort {
	addr, _ := netip.ParseAddrPort(s)
	return netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
}

// clientConn is the client's side of a tunnel, below any TLS.
type clientConn struct {
	net.Conn
	ahead   []byte // octets that were read before the connection was hijacked
	origin  policy.Origin
	addr    netip.AddrPort
	user    string // who opened the tunnel; "" is not known
	release func() // called once, when the connection is closed; nil: nobody is told
	once    sync.Once
}

func (c *clientConn) Read(b []byte) (int, error) {
	if len(c.ahead) > 0 {
		n := copy(b, c.ahead)
		c.ahead = c.ahead[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

// absolute completes a request target in origin form by the tunnel that it came
// out of, nil outside one, and removes userinfo.
func (c *clientConn) absolute(target string) string {
	if c != nil && strings.HasPrefix(target, "/") {
		target = c.origin.String() + target
	}
	return withoutUserinfo(target)
}

// peek returns the first octet and leaves it to be read.
func (c *clientConn) peek() (byte, error) {
	if len(c.ahead) == 0 {
		first := make([]byte, 1)
		if n, err := c.Conn.Read(first); n == 0 {
			return 0, err
		}
		c.ahead = first
	}
	return c.ahead[0], nil
}

func (c *clientConn) Close() error {
	c.once.Do(func() {
		if c.release != nil {
			c.release()
		}
	})
	return c.Conn.Close()
}

// CloseWrite ends the sending side, where the connection can do that.
func (c *clientConn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// connSet holds the connections that no http.Server looks after: handshakes and
// tunnels. It is safe for concurrent use; the zero value is empty and open.
type connSet struct {
	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

// add reports whether c was taken in; after closeAll nothing is.
func (s *connSet) add(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if s.conns == nil {
		s.conns = map[net.Conn]struct{}{}
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *connSet) remove(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// closeAll closes what is there and lets nothing in any more.
func (s *connSet) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for c := range s.conns {
		_ = c.Close()
	}
}

func (s *connSet) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}
