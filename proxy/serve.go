package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// errShutdown is why an exchange ended that Shutdown did not wait for any longer.
var errShutdown = errors.New("heed was shut down")

// Serve accepts clients on l until Shutdown, and then returns nil.
func (p *Proxy) Serve(l net.Listener) error {
	p.started.Store(true)
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
	p.opening.closeAll() // no request has come from these
	<-drained
	<-drained
	err := p.quiet(ctx)
	if err != nil {
		p.cut()
	}
	_ = p.inner.Close()
	if p.started.Load() {
		<-p.innerDone
	}
	p.cancel(nil)
	return err
}

// cut ends by force what did not end by itself, and waits for the records.
func (p *Proxy) cut() {
	p.cancel(errShutdown) // what waits for robots.txt or an origin does not watch its connection
	p.tunnels.closeAll()
	p.sockets.closeAll()
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
func (p *Proxy) OpenConnections() int { return p.gate.open() }

// RefusedConnections returns how many connections were one too many.
func (p *Proxy) RefusedConnections() uint64 { return p.gate.refused.Load() }

// OpenExchanges returns the number of requests under way, tunnels included.
func (p *Proxy) OpenExchanges() int { return int(p.active.Load()) }

// OpenWebSockets returns the number of WebSockets under way.
func (p *Proxy) OpenWebSockets() int { return p.sockets.size() }

// connState keeps connections on which no request has come yet, tells an httpConn
// when its answer is out, and counts out what was accepted. A hijacked connection
// goes on being counted until whoever has it closes it, and connections of the
// inner server are the same sockets again.
func (p *Proxy) connState(c net.Conn, s http.ConnState) {
	h, ok := c.(*httpConn)
	switch s {
	case http.StateNew:
		if !p.opening.add(c) {
			_ = c.Close()
		}
	case http.StateActive, http.StateHijacked:
		if !ok || h.fresh {
			p.opening.remove(c)
		}
		if ok {
			h.fresh = false
		}
	case http.StateIdle:
		if ok {
			h.idle()
		}
	case http.StateClosed:
		p.opening.remove(c)
		if ok && h.client == nil {
			h.leave()
		}
	}
}
