package policy

import (
	"iter"
	"strings"
)

// Robots is a parsed robots.txt. Make one with [Parse]: a nil or zero Robots
// disallows everything. It never changes, so it may be shared between
// goroutines without a lock.
type Robots struct {
	rules  []rule           // in file order
	blocks []block          // in file order
	groups map[string][]int // product token in lower case, or "*", to the blocks that name it
}

// A block is one run of agent lines and the rules under it: rules[from:to].
// Blocks are shared between the tokens that name them, so that a file with many
// agent lines over many rules costs their sum and not their product.
type block struct{ from, to int }

// A rule is an allow or disallow line whose path can match something.
type rule struct {
	pattern pattern
	text    string // the line's own text
	line    int    // 1-based
	allow   bool
}

// Decide reaches the verdict on t under profile RFC9309. The first of tokens
// that has a group selects it, else the * groups rule, else everything is
// allowed; /robots.txt always is (RFC 9309 2.2.2). A target without a path is
// disallowed.
func (r *Robots) Decide(tokens []string, t Target) Decision {
	switch {
	case r == nil || r.groups == nil:
		return Decision{Reason: ReasonInternal, Agent: first(tokens)}
	case !strings.HasPrefix(t.Path, "/"):
		return Decision{Reason: ReasonBadRequest, Agent: first(tokens)}
	case t.IsRobotsTXT():
		return Decision{Verdict: Allow, Reason: ReasonRobotsTXT, Agent: first(tokens)}
	}
	g := r.group(tokens)
	d := Decision{Verdict: Allow, Reason: ReasonNoGroup, Agent: g.agent, Group: g.name}
	if g.name == "" {
		return d
	}
	d.Profile, d.Reason = RFC9309, ReasonNoRule
	sent := newSubject(t.Path)
	deciding := r.longest(g.blocks, sent)
	// The origin may serve either spelling of a path with dot segments.
	if resolved, ok := sent.resolved(); ok && deciding.allows() {
		if other := r.longest(g.blocks, resolved); !other.allows() {
			deciding = other
		}
	}
	if deciding == nil {
		return d
	}
	d.Reason, d.Rule, d.Line = ReasonRule, deciding.text, deciding.line
	if !deciding.allow {
		d.Verdict = Disallow
	}
	return d
}

// unrestricted reports whether a tunnel that cannot be read is harmless: every
// disallow rule of the agent's group forbids it, also one that a longer allow
// rule would override everywhere. The first of them is named.
func (r *Robots) unrestricted(tokens []string) Decision {
	if r == nil || r.groups == nil {
		return Decision{Reason: ReasonRestrictedTunnel, Agent: first(tokens)}
	}
	g := r.group(tokens)
	for rule := range r.rulesOf(g.blocks) {
		if !rule.allow {
			return Decision{
				Reason: ReasonRestrictedTunnel,
				Agent:  g.agent, Group: g.name,
				Rule: rule.text, Line: rule.line,
			}
		}
	}
	return Decision{Verdict: Allow, Reason: ReasonUnrestrictedTunnel, Agent: g.agent, Group: g.name}
}

// longest returns the rule that decides on s, or nil: the pattern of most
// octets wins, allow wins among equals (RFC 9309 2.2.2), and of what is left
// the first line is named.
func (r *Robots) longest(blocks []int, s subject) *rule {
	var best *rule
	for rule := range r.rulesOf(blocks) {
		if rule.beats(best) && rule.pattern.matches(s) {
			best = rule
		}
	}
	return best
}

func (r *Robots) rulesOf(blocks []int) iter.Seq[*rule] {
	return func(yield func(*rule) bool) {
		for _, b := range blocks {
			for i := r.blocks[b].from; i < r.blocks[b].to; i++ {
				if !yield(&r.rules[i]) {
					return
				}
			}
		}
	}
}

func (r *rule) beats(other *rule) bool {
	if other == nil {
		return true
	}
	if a, b := r.pattern.octets(), other.pattern.octets(); a != b {
		return a > b
	}
	return r.allow && !other.allow
}

// allows reports whether the outcome r is to allow; no rule at all allows (RFC
// 9309 2.2.2).
func (r *rule) allows() bool { return r == nil || r.allow }
