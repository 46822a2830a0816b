package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"
)

// Control judges the address a socket is about to connect to. It fits
// [net.Dialer.ControlContext], which runs after DNS and once for each address.
func (g *Guard) Control(_ context.Context, _, address string, _ syscall.RawConn) error {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return &DeniedError{Why: "not an IP address and port: nothing else may be dialled"}
	}
	return g.CheckPort(addr)
}

// DialContext returns a dial function for an [http.Transport]. It tries the
// addresses of a name as [net.Dialer] does, IPv6 and IPv4 in a race (RFC 8305),
// and passes over those that may not be dialled. When there is no other, the
// error wraps a [*DeniedError]; when another was tried and did not answer, it
// does not. A timeout of zero leaves the bound to the caller's context.
func (g *Guard) DialContext(timeout time.Duration) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		var tried atomic.Bool
		d := net.Dialer{Timeout: timeout, ControlContext: func(ctx context.Context, network, address string, c syscall.RawConn) error {
			err := g.Control(ctx, network, address, c)
			if err == nil {
				tried.Store(true)
			}
			return err
		}}
		conn, err := d.DialContext(ctx, network, address)
		var denied *DeniedError
		if tried.Load() && errors.As(err, &denied) {
			// net.Dialer reports its first failure. That some address was
			// refused is not why there is no connection.
			return nil, fmt.Errorf("dial %s: no answer from the addresses that may be dialled; %v", address, denied)
		}
		return conn, err
	}
}
