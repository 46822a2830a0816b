package main

import (
	"context"
	"fmt"

	"heed/internal/config"
	"heed/policy"
	"heed/proxy"
)

// tunnels is how a configuration has CONNECT dealt with.
type tunnels struct {
	all    bool        // nothing is intercepted
	hosts  proxy.Hosts // that are not
	policy proxy.TunnelPolicy
	ports  []uint16
}

func newTunnels(c config.HTTPS) (tunnels, error) {
	hosts, err := proxy.ParseHosts(c.TunnelHosts)
	if err != nil {
		return tunnels{}, fmt.Errorf("https.tunnel_hosts: %w", err)
	}
	t := tunnels{all: c.Mode == "tunnel", hosts: hosts}
	t.policy = map[string]proxy.TunnelPolicy{"unrestricted": proxy.TunnelUnrestricted, "allow": proxy.TunnelAllow}[c.TunnelPolicy]
	for _, port := range c.ConnectPorts {
		t.ports = append(t.ports, uint16(port)) // validated
	}
	return t, nil
}

// decide decides on a target by the CONNECT that a client has to send for it.
// decided is false where none is needed, or where it is granted and what matters
// is the request inside.
func (t tunnels) decide(ctx context.Context, d proxy.Decider, target policy.Target) (decision policy.Decision, access policy.Access, decided bool, err error) {
	if target.Origin.Scheme != "https" {
		return policy.Decision{}, policy.Access{}, false, nil
	}
	if decision, refused := d.RefusePort(t.ports, target.Origin.Port); refused {
		return decision, policy.Access{}, true, nil
	}
	if !t.all && !t.hosts.Has(target.Origin) {
		return policy.Decision{}, policy.Access{}, false, nil
	}
	decision, access, err = d.DecideConnect(ctx, t.policy, target.Origin)
	return decision, access, true, err
}
