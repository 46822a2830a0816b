package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Serve accepts clients on l until Shutdown, and then returns nil.
func (p *Proxy) Serve(l net.Listener) error {
	go func() {
		defer close(p.innerDone)
		if err := p.innerServer.Serve(p.inner); err != nil && !stopped(err) {
			p.log.Error("serving intercepted connections ended", "error", err)
		}
	}()
	if err := p.outer.Serve(watchedListener{l, p}); err != nil && !stopped(err) {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return nil
}

func stopped(err error) bool {
	return errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed)
}

// Shutdown stops accepting, lets the exchanges and tunnels under way finish, and
// cuts what has not finished when ctx ends; then it returns ctx's error. Every
// exchange has its record before Shutdown returns.
func (p *Proxy) Shutdown(ctx context.Context) error {
	drained := make(chan struct{}, 2)
	for _, s := range []*http.Server{p.outer, p.innerServer} {
		go func() {
			_ = s.Shutdown(ctx)
			drained <- struct{}{}
		}()
	}
	p.opening.closeAll() // no request has come out of these
	<-drained
	<-drained
	err := p.quiet(ctx)
	if err != nil {
		p.cut()
	}
	_ = p.inner.Close()
	<-p.innerDone
	return err
}

// cut ends by force what did not end by itself, and waits for the records.
func (p *Proxy) cut() {
	p.tunnels.closeAll()
	_ = p.outer.Close()
	_ = p.innerServer.Close()
	ctx, cancel := context.WithTimeout(context.Background(), cutTimeout)
	defer cancel()
	if err := p.quiet(ctx); err != nil {
		p.log.Error("exchanges did not end when their connections were cut", "count", p.active.Load())
	}
}

// cutTimeout bounds the wait for handlers whose connections are closed already.
const cutTimeout = 5 * time.Second

// quiet waits until no exchange is under way. net/http's Shutdown does not wait
// for hijacked connections, nor for the handler of a reset HTTP/2 stream.
func (p *Proxy) quiet(ctx context.Context) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for p.active.Load() > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// OpenTunnels returns the number of tunnels under way.
func (p *Proxy) OpenTunnels() int { return p.tunnels.size() }

// OpenConnections returns the number of client connections, tunnels included.
func (p *Proxy) OpenConnections() int { return int(p.open.Load()) }

func (p *Proxy) connectionClosed() { p.open.Add(-1) }

// connState counts connections and tells an httpConn when its answer is out. A
// hijacked connection goes on being counted until whoever has it closes it, and
// connections of the inner server are the same sockets again.
func (p *Proxy) connState(c net.Conn, s http.ConnState) {
	h, ok := c.(*httpConn)
	if ok && s == http.StateIdle {
		h.idle()
	}
	if !ok || h.client != nil {
		return
	}
	switch s {
	case http.StateNew:
		p.open.Add(1)
	case http.StateClosed:
		p.open.Add(-1)
	}
}
