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
func (r *Robots) DecideUnder(p Profile, tokens []string, t Target) (d Decision) {
	c := comparisonOf(p)
	switch {
	case r.settled(&d, c, p, tokens, t.Path):
	case c != nil:
		r.choice(c, tokens, false, nil).decide(&d, t.Path)
	default:
		r.strictest(&d, tokens, t)
	}
	return d
}

// settled decides where no rule has to be asked. c is the profile's comparison.
func (r *Robots) settled(d *Decision, c *comparison, p Profile, tokens []string, path string) bool {
	switch {
	case r == nil || !r.parsed || c == nil && p != Strictest:
		d.Reason = ReasonInternal
	case !strings.HasPrefix(path, "/"):
		d.Reason = ReasonBadRequest
	case isRobotsTXT(path) && (c == nil || !c.explicit):
		d.Verdict, d.Reason = Allow, ReasonRobotsTXT
	default:
		return false
	}
	d.Agent = first(tokens)
	return true
}

// strictest asks all profiles and stops at the first that disallows; where none
// does, the first tells why.
func (r *Robots) strictest(d *Decision, tokens []string, t Target) {
	for i, c := range all {
		var one Decision
		r.strict(c, tokens, t.Origin).decide(&one, t.Path)
		if one.Profile != "" {
			one.Profile = Strictest
		}
		if !one.Allowed() {
			one.DisallowedBy = c.profile
			*d = one
			return
		}
		if i == 0 {
			*d = one
		}
	}
}

// unrestricted is for tunnels to an origin, which have no path.
func (r *Robots) unrestricted(p Profile, tokens []string, origin Origin) Decision {
	c := comparisonOf(p)
	switch {
	case r == nil || !r.parsed || c == nil && p != Strictest:
		return Decision{Reason: ReasonRestrictedTunnel, Agent: first(tokens)}
	case c != nil:
		return r.choice(c, tokens, false, nil).unrestricted()
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
