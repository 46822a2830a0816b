package proxy

import (
	"context"
	"net/netip"
	"time"

	"heed/policy"
)

// Source knows the robots.txt of origins. The error is for the caller's own
// context and nothing else: a site that cannot be reached is data.
type Source interface {
	Access(ctx context.Context, origin policy.Origin) (policy.Access, error)
}

// Decider reaches verdicts. It is the one place where robots.txt meets a
// target, for requests, tunnels and heed check alike. It is safe for concurrent
// use when its Source is.
type Decider struct {
	Source    Source
	Settings  policy.Settings
	Monitor   bool              // decide, but do not refuse what robots.txt or an override disallows
	Clients   []Client          // whose settings differ; the first that applies counts
	Overrides []policy.Override // the first that applies counts
	entry     int               // of Clients, 1-based; 0: none
}

// Client is settings of some clients' own.
type Client struct {
	User     string         // "" is anybody
	Networks []netip.Prefix // empty is everywhere
	Settings policy.Settings
	Monitor  bool
}

// matches reports whether a client is meant.
func (c Client) matches(user string, from netip.Addr) bool {
	if c.User != "" && c.User != user {
		return false
	}
	for _, n := range c.Networks {
		if n.Contains(from) {
			return true
		}
	}
	return len(c.Networks) == 0
}

// For returns the Decider for requests of user ("" has not proved a name) from
// an address: d with the settings of the first client that is meant. Nothing that
// a request says beside those two has a part in it.
func (d Decider) For(user string, from netip.Addr) Decider {
	from = from.Unmap().WithZone("")
	for i, c := range d.Clients {
		if c.matches(user, from) {
			d.Settings, d.Monitor, d.entry = c.Settings, c.Monitor, i+1
			break
		}
	}
	return d
}

// Entry returns which of Clients For chose, counted from 1; 0 is none.
func (d Decider) Entry() int { return d.entry }

// agent names the agent where no group has been looked for.
func (d *Decider) agent() string {
	if len(d.Settings.Tokens) == 0 {
		return ""
	}
	return d.Settings.Tokens[0]
}

// Decide waits until the robots.txt of t's origin is known and decides on t.
// The error is non-nil only when ctx ended first; the decision then disallows.
func (d *Decider) Decide(ctx context.Context, t policy.Target) (policy.Decision, policy.Access, error) {
	return d.decide(ctx, t, false, nil)
}

// Explain is Decide for people: it says all that led to the decision, and takes
// its time.
func (d *Decider) Explain(ctx context.Context, t policy.Target) (policy.Explanation, policy.Access, error) {
	x := policy.Explanation{Target: t.Path}
	decision, access, err := d.decide(ctx, t, false, &x)
	x.Decision = decision
	return x, access, err
}

// DecideTunnel decides on a tunnel to origin that nobody can look into.
func (d *Decider) DecideTunnel(ctx context.Context, origin policy.Origin) (policy.Decision, policy.Access, error) {
	return d.decide(ctx, policy.Target{Origin: origin}, true, nil)
}

// decide asks an override first, then robots.txt, unless nobody needs it. Into x,
// unless it is nil, goes the explanation. All is passed by reference: a copy of an
// access result costs as much as a rule.
func (d *Decider) decide(ctx context.Context, t policy.Target, tunnel bool, x *policy.Explanation) (decision policy.Decision, access policy.Access, err error) {
	o := d.override(t.Origin)
	if o != nil && o.Action != policy.ActionRobots {
		return d.overridden(o), access, nil
	}
	switch {
	case t.IsRobotsTXT():
	case o != nil && o.Robots != nil:
		access = policy.Access{Result: policy.Successful, Robots: o.Robots, URL: t.Origin.RobotsURL(), SHA256: o.SHA256}
	default:
		if access, err = d.Source.Access(ctx, t.Origin); err != nil {
			return policy.Decision{Reason: policy.ReasonUnreachable}, policy.Access{}, err
		}
	}
	settings := d.Settings
	if o != nil && len(o.Tokens) > 0 {
		settings.Tokens = o.Tokens
	}
	switch {
	case tunnel:
		decision = settings.Unrestricted(&access)
	case x != nil:
		*x = settings.Explain(&access, t)
		decision = x.Decision
	default:
		decision = settings.Decide(&access, t)
	}
	if o != nil {
		decision.Override = o.String()
	}
	return decision, access, nil
}

// override returns the one that applies to origin now, or nil.
func (d *Decider) override(origin policy.Origin) *policy.Override {
	if len(d.Overrides) == 0 {
		return nil
	}
	return policy.FindOverride(d.Overrides, origin, time.Now())
}

// overridden is the decision of an override that needs no robots.txt.
func (d *Decider) overridden(o *policy.Override) policy.Decision {
	out := policy.Decision{Reason: policy.ReasonOverride, Agent: d.agent(), Override: o.String()}
	if o.Action == policy.ActionAllow {
		out.Verdict = policy.Allow
	}
	return out
}
