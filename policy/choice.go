package policy

import "slices"

// A choice is what a token list selects under one comparison, made ready. The
// fields up to origin are what it was made for.
type choice struct {
	comparison *comparison
	tokens     []string
	strict     bool
	origin     *Origin // nil where rules do not depend on it

	group group
	index *index // shared between token lists that select the same group
}

// like reports whether the choice was made for the arguments.
func (k *choice) like(c *comparison, strict bool, origin *Origin) bool {
	return k.comparison == c && k.strict == strict &&
		(k.origin == origin || k.origin != nil && origin != nil && *k.origin == *origin)
}

// maxChoices bounds what is kept. One crawler has one token list; a proxy for
// many has a few.
const maxChoices = 64

// choice returns what has been made ready for the arguments, or makes it ready.
func (r *Robots) choice(c *comparison, tokens []string, strict bool, origin *Origin) *choice {
	if known := r.choices.Load(); known != nil {
		for _, k := range *known {
			if k.like(c, strict, origin) && slices.Equal(k.tokens, tokens) {
				return k
			}
		}
	}
	return r.choose(c, tokens, strict, origin)
}

func (r *Robots) choose(c *comparison, tokens []string, strict bool, origin *Origin) *choice {
	read := r.reading(c.dialect)
	k := &choice{comparison: c, tokens: slices.Clone(tokens), strict: strict, group: read.group(tokens)}
	var of Origin
	if origin != nil {
		of = *origin
		k.origin = &of
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var known []*choice
	if p := r.choices.Load(); p != nil {
		known = *p
	}
	for _, other := range known {
		if !other.like(c, strict, origin) {
			continue
		}
		if slices.Equal(other.tokens, tokens) {
			return other // somebody was faster
		}
		if other.group.token == k.group.token {
			k.index = other.index
		}
	}
	if k.index == nil {
		k.index = newIndex(c, read, audience{read.named(k.group.token), strict, of})
	}
	if len(known) == maxChoices {
		known = known[1:] // the oldest
	}
	known = append(slices.Clip(known), k) // a copy: others may be reading the old one
	r.choices.Store(&known)
	return k
}

// strict makes the choice of one of those that Strictest asks.
func (r *Robots) strict(c *comparison, tokens []string, origin Origin) *choice {
	if !r.own.absolute && !r.reading(googles).absolute {
		return r.choice(c, tokens, true, nil)
	}
	return r.choice(c, tokens, true, &origin)
}

// decide reaches the verdict on a path and query.
func (k *choice) decide(d *Decision, path string) {
	d.Verdict, d.Reason, d.Agent, d.Group = Allow, ReasonNoGroup, k.group.agent, k.group.name
	if d.Group == "" {
		return
	}
	d.Profile, d.Reason = k.comparison.profile, ReasonNoRule
	deciding := k.index.decide(path)
	if deciding.entry == nil {
		return
	}
	d.Reason, d.Rule, d.Line = ReasonRule, k.index.rule(deciding.entry), k.index.lineOf(deciding.entry)
	if !deciding.entry.allow() {
		d.Verdict = Disallow
	}
}

// unrestricted reports whether a tunnel that cannot be read is harmless: every
// disallow rule of the agent's group forbids it, also one that a longer allow
// rule would override everywhere. The first of them is named.
func (k *choice) unrestricted() Decision {
	d := Decision{Reason: ReasonUnrestrictedTunnel, Verdict: Allow, Agent: k.group.agent, Group: k.group.name}
	if x := k.index; x.restricts {
		d.Verdict, d.Reason = Disallow, ReasonRestrictedTunnel
		d.Rule, d.Line = ruleText(x.text, int(x.restrict)), int(x.line)
	}
	return d
}
