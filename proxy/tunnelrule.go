package proxy

import (
	"context"
	"slices"

	"heed/policy"
)

// TunnelPolicy says what becomes of a CONNECT that is not intercepted. The zero
// value denies.
type TunnelPolicy uint8

// The tunnel policies.
const (
	TunnelDeny         TunnelPolicy = iota // never opened
	TunnelUnrestricted                     // opened where nothing is disallowed to the agent
	TunnelAllow                            // opened unread, and recorded as unchecked
)

// DecideConnect decides on a CONNECT to origin that is not intercepted. A deny
// override comes first; then the policy: what an override allows is opened under
// the two that open tunnels at all. In monitor mode, where nothing inside is going
// to be judged, a tunnel that would be restricted is unchecked. The error is
// Decide's.
func (d *Decider) DecideConnect(ctx context.Context, p TunnelPolicy, origin policy.Origin) (decision policy.Decision, access policy.Access, err error) {
	origin = tunnelOrigin(origin)
	override := d.override(origin)
	switch {
	case override != nil && override.Action == policy.ActionDeny:
		decision = d.overridden(override)
	case p == TunnelUnrestricted, p == TunnelAllow && override != nil && override.Action == policy.ActionAllow:
		decision, access, err = d.DecideTunnel(ctx, origin)
	case p == TunnelAllow:
		decision = policy.Decision{Verdict: policy.Allow, Reason: policy.ReasonUnchecked, Agent: d.agent()}
	default:
		decision = policy.Decision{Reason: policy.ReasonRestrictedTunnel, Agent: d.agent()}
	}
	if err == nil && d.Monitor && decision.Reason == policy.ReasonRestrictedTunnel {
		decision.Verdict, decision.Reason = policy.Allow, policy.ReasonUnchecked
	}
	return decision, access, err
}

// RefusePort decides on a CONNECT by its port: where ports are named, it leads to
// no other, whatever else is allowed.
func (d *Decider) RefusePort(ports []uint16, port uint16) (decision policy.Decision, refused bool) {
	if len(ports) == 0 || slices.Contains(ports, port) {
		return policy.Decision{}, false
	}
	return policy.Decision{Reason: policy.ReasonRestrictedTunnel, Agent: d.agent()}, true
}

// tunnelOrigin guesses the origin behind a tunnel from its port: what is said
// in the open on port 80 is judged request by request anyway.
func tunnelOrigin(o policy.Origin) policy.Origin {
	if o.Port == policy.DefaultPort("http") {
		o.Scheme = "http"
	}
	return o
}
