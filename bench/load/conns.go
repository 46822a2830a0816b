package load

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// add takes a connection into care; false when all is over.
func (s *session) add(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		return false
	}
	_ = c.SetDeadline(s.deadline)
	s.conns[c] = struct{}{}
	return true
}

// close ends a connection in good manners.
func (s *session) close(c net.Conn) {
	_ = c.Close()
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// closeAll ends all connections at once, and those that are still being opened.
func (s *session) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
	s.conns = nil
}

// holders is how many connections are opened at one time.
const holders = 16

// opening bounds the time in which all connections have to be open.
const opening = time.Minute

// Hold opens as many connections as the work has, asks once on each, and leaves
// them open until release is called. release is never nil.
func Hold(ctx context.Context, w Work, t Target) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, opening)
	defer cancel()
	s := newSession(ctx, w, t, 2*opening)
	places := make(chan struct{}, holders)
	var opened sync.WaitGroup
	for range w.Connections {
		places <- struct{}{}
		opened.Go(func() {
			defer func() { <-places }()
			if err := s.hold(); err != nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				if s.first == nil {
					s.first = err
				}
			}
		})
	}
	opened.Wait()
	return s.closeAll, s.first
}

func (s *session) hold() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	c, err := s.newClient1(s.host())
	if err != nil {
		return err
	}
	again, err := c.exchange()
	if err == nil && !again {
		err = errors.New("connections end after one answer")
	}
	return err
}
