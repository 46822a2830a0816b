package proxy

import (
	"context"

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
	Source   Source
	Settings policy.Settings
}

// Decide waits until the robots.txt of t's origin is known and decides on t.
// The error is non-nil only when ctx ended first; the decision then disallows.
func (d Decider) Decide(ctx context.Context, t policy.Target) (policy.Decision, policy.Access, error) {
	if t.IsRobotsTXT() {
		return d.Settings.Decide(policy.Access{}, t), policy.Access{}, nil
	}
	access, err := d.Source.Access(ctx, t.Origin)
	if err != nil {
		return policy.Decision{Reason: policy.ReasonUnreachable}, policy.Access{}, err
	}
	return d.Settings.Decide(access, t), access, nil
}

// Explain is Decide for people: it says all that led to the decision, and takes
// its time.
func (d Decider) Explain(ctx context.Context, t policy.Target) (policy.Explanation, policy.Access, error) {
	var access policy.Access
	if !t.IsRobotsTXT() {
		var err error
		if access, err = d.Source.Access(ctx, t.Origin); err != nil {
			return policy.Explanation{Decision: policy.Decision{Reason: policy.ReasonUnreachable}}, policy.Access{}, err
		}
	}
	return d.Settings.Explain(access, t), access, nil
}

// DecideTunnel decides on a tunnel to origin that nobody can look into.
func (d Decider) DecideTunnel(ctx context.Context, origin policy.Origin) (policy.Decision, policy.Access, error) {
	access, err := d.Source.Access(ctx, origin)
	if err != nil {
		return policy.Decision{Reason: policy.ReasonUnreachable}, policy.Access{}, err
	}
	return d.Settings.Unrestricted(access), access, nil
}
