package proxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"time"

	"heed/policy"
)

// settings are the part of Options that Change may replace. An exchange keeps
// those with which it began, so that no request is judged by a half of each.
type settings struct {
	decider      Decider
	transport    http.RoundTripper
	dial         func(ctx context.Context, network, address string) (net.Conn, error)
	tunnelHosts  Hosts
	tunnelPolicy TunnelPolicy
	connectPorts []uint16
	userAgent    string
	rewrite      Rewrite
	unreachable  int
	authenticate func(ctx context.Context, user, password string, from netip.Addr) (bool, time.Time)
	connections  int
	perClient    int
}

func settingsOf(o Options) (*settings, error) {
	if o.Decider.Source == nil || o.Transport == nil || o.Dial == nil {
		return nil, errors.New("proxy: Decider.Source, Transport and Dial are required")
	}
	s := &settings{
		decider: o.Decider, transport: o.Transport, dial: o.Dial,
		tunnelHosts: o.TunnelHosts, tunnelPolicy: o.TunnelPolicy, connectPorts: o.ConnectPorts,
		userAgent: o.UserAgent, rewrite: o.Rewrite, unreachable: o.UnreachableStatus,
		authenticate: o.Authenticate, connections: o.Connections, perClient: o.ConnectionsPerClient,
	}
	s.decider.Monitor = o.Monitor
	return s, nil
}

// Change replaces settings while p serves: Decider, Transport, Dial, Monitor,
// TunnelHosts, TunnelPolicy, ConnectPorts, UserAgent, Rewrite, UnreachableStatus,
// Authenticate, Connections and ConnectionsPerClient. The rest of o is ignored. All
// of them change at one moment: what began before it ends as it began, tunnels
// included, and no connection is closed. The error is New's, and nothing changes.
func (p *Proxy) Change(o Options) error {
	s, err := settingsOf(o)
	if err == nil {
		p.settings.Store(s)
	}
	return err
}

// intercepts reports whether a CONNECT to o is decrypted.
func (x *exchange) intercepts(o policy.Origin) bool {
	return x.p.leaf != nil && !x.set.tunnelHosts.Has(o)
}
