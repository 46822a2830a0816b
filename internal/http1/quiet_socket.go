//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package http1

import (
	"errors"
	"net"
	"syscall"
)

// peeker looks whether anything has come on a socket, without waiting.
type peeker struct {
	raw   syscall.RawConn
	look  func(fd uintptr) bool
	quiet bool
}

// newPeeker returns nil where there is no socket to look at.
func newPeeker(c net.Conn) *peeker {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	p := &peeker{raw: raw}
	p.look = func(fd uintptr) bool {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		p.quiet = n <= 0 && (errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR))
		return true
	}
	return p
}

// nothing reports whether nothing has come, the end of the connection included.
func (p *peeker) nothing() bool {
	if p == nil {
		return true
	}
	p.quiet = false
	return p.raw.Read(p.look) == nil && p.quiet
}
