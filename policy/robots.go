package policy

import "strings"

// Decide reaches the verdict on t under profile RFC9309. The first of tokens
// that has a group selects it, else the * groups rule, else everything is
// allowed; /robots.txt always is (RFC 9309 2.2.2). A target without a path is
// disallowed.
func (r *Robots) Decide(tokens []string, t Target) Decision {
	return r.DecideUnder(RFC9309, tokens, t)
}

// DecideUnder is Decide under any profile. Under Google it is that parser's
// matcher alone, to which /robots.txt is a path like any other; Settings.Decide
// allows it before any profile is asked. An unknown profile disallows.
func (r *Robots) DecideUnder(p Profile, tokens []string, t Target) Decision {
	c := comparisonOf(p)
	if d, ok := r.settled(c, p, tokens, t); ok {
		return d
	}
	if c == nil {
		return r.strictest(tokens, t)
	}
	return r.choice(c, tokens, false, Origin{}).decide(t.Path)
}

// settled decides where no rule has to be asked. c is the profile's comparison.
func (r *Robots) settled(c *comparison, p Profile, tokens []string, t Target) (Decision, bool) {
	d := Decision{Agent: first(tokens)}
	switch {
	case r == nil || !r.parsed || c == nil && p != Strictest:
		d.Reason = ReasonInternal
	case !strings.HasPrefix(t.Path, "/"):
		d.Reason = ReasonBadRequest
	case (c == nil || !c.explicit) && t.IsRobotsTXT():
		d.Verdict, d.Reason = Allow, ReasonRobotsTXT
	default:
		return Decision{}, false
	}
	return d, true
}

// strictest asks all profiles and stops at the first that disallows; where none
// does, the first tells why.
func (r *Robots) strictest(tokens []string, t Target) Decision {
	var allowed Decision
	for i, c := range all {
		d := r.strict(c, tokens, t.Origin).decide(t.Path)
		if d.Profile != "" {
			d.Profile = Strictest
		}
		if !d.Allowed() {
			d.DisallowedBy = c.profile
			return d
		}
		if i == 0 {
			allowed = d
		}
	}
	return allowed
}

// unrestricted is for tunnels to an origin, which have no path.
func (r *Robots) unrestricted(p Profile, tokens []string, origin Origin) Decision {
	c := comparisonOf(p)
	switch {
	case r == nil || !r.parsed || c == nil && p != Strictest:
		return Decision{Reason: ReasonRestrictedTunnel, Agent: first(tokens)}
	case c != nil:
		return r.choice(c, tokens, false, Origin{}).unrestricted()
	}
	var allowed Decision
	for i, c := range all {
		d := r.strict(c, tokens, origin).unrestricted()
		if !d.Allowed() {
			d.DisallowedBy = c.profile
			return d
		}
		if i == 0 {
			allowed = d
		}
	}
	return allowed
}
