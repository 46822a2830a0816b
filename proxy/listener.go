package proxy

import (
	"net"
	"sync"
	"time"
)

// pipeListener hands connections to an http.Server that were accepted elsewhere.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

// push waits until the server takes c; after Close it closes c instead.
func (l *pipeListener) push(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.done:
		_ = c.Close()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener; nobody dials it.
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "tunnel", Net: "pipe"} }

// watchedListener counts accepted connections and wraps them so that what net/http
// refuses by itself is explained and recorded.
type watchedListener struct {
	net.Listener
	p *Proxy
}

func (l watchedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := clientOf(parseAddr(c.RemoteAddr().String()).Addr())
		limit, ok := l.p.gate.enter(from, l.p.settings.Load())
		if !ok {
			_ = c.Close()
			continue
		}
		h := &httpConn{Conn: l.p.secured(c), p: l.p, fresh: true, from: from, limit: limit}
		if limit != "" {
			h.until = time.Now().Add(toldTime)
		}
		return h, nil
	}
}
