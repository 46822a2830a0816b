package policy

import (
	"fmt"
	"strings"
)

// An Explanation is a decision and all that led to it. It costs a look at every
// rule of the group, so it is for people and not for every request.
type Explanation struct {
	Decision
	Agents   []AgentLine // the agent lines of the group, all that were merged, in file order
	Target   string      // the path and query in the form that was compared
	Resolved bool        // Target has had its dot segments resolved
	Winner   *Match      // the rule that decided; nil when none did
	RunnerUp *Match      // of the other rules that match the one that comes next; nil when there is none
	Lost     string      // why the runner-up lost, for people; "" when there is none
	Profiles []Decision  // under Strictest, what each of the others says
}

// AgentLine is a line that names whom a group is for.
type AgentLine struct {
	Line int    // 1-based
	Text string // the line's own text
}

// A Match is a rule that matches a target.
type Match struct {
	Verdict Verdict
	Rule    string // the line's own text
	Line    int    // 1-based
	Pattern string // the path in canonical form
	Octets  int    // what its precedence rests on (RFC 9309 2.2.2)
}

// Explain reaches the same decision as Settings.Decide and explains it.
func (s Settings) Explain(a *Access, t Target) Explanation {
	d := s.Decide(a, t)
	if a.Result != Successful || d.Reason == ReasonRobotsTXT || d.Reason == ReasonEgressDenied {
		return Explanation{Decision: d, Target: t.Path}
	}
	return a.Robots.Explain(s.Profile, s.Tokens, t)
}

// Explain reaches the same decision as DecideUnder and explains it.
func (r *Robots) Explain(p Profile, tokens []string, t Target) Explanation {
	x := Explanation{Decision: r.DecideUnder(p, tokens, t), Target: t.Path}
	c := comparisonOf(p)
	if p == Strictest {
		c = comparisonOf(x.DisallowedBy)
	}
	if x.Profile == "" {
		return x
	}
	a := audience{strict: p == Strictest, origin: t.Origin}
	if a.strict {
		for _, other := range all {
			x.Profiles = append(x.Profiles, r.DecideUnder(other.profile, tokens, t))
		}
	}
	read := r.reading(c.dialect)
	a.blocks = read.named(read.group(tokens).token)
	x.agents(read, a.blocks)
	x.contest(c, read, a, t.Path)
	return x
}

func (x *Explanation) agents(r *reading, blocks []int) {
	for rec := range r.records(blocks) {
		if rec.key == agentKey {
			x.Agents = append(x.Agents, AgentLine{rec.line, rec.text[rec.start:rec.end]})
		}
	}
}

// contest finds the two rules that come first, for the spelling of the path that
// decided.
func (x *Explanation) contest(c *comparison, r *reading, a audience, path string) {
	sent, seam := c.appendTarget(nil, path)
	first, second := contest(c, r, a, string(sent))
	x.Target = c.showTarget(path, false)
	if resolved := string(removeDots(nil, string(sent[:seam]))) + string(sent[seam:]); resolved != string(sent) && (first == nil || first.Verdict == Allow) {
		if other, next := contest(c, r, a, resolved); other != nil && other.Verdict == Disallow {
			first, second = other, next
			x.Target, x.Resolved = c.showTarget(path, true), true
		}
	}
	x.Winner, x.RunnerUp = first, second
	if second != nil {
		x.Lost = lost(first, second)
	}
}

func contest(c *comparison, r *reading, a audience, target string) (first, second *Match) {
	try := func(m Match, path string) {
		if !c.matches(path, target) {
			return
		}
		m.Pattern, m.Octets = c.show(path), c.octets(path)
		switch {
		case first == nil || m.beats(first):
			first, second = &m, first
		case second == nil || m.beats(second):
			second = &m
		}
	}
	for rec := range r.records(a.blocks) {
		if rec.key == agentKey {
			continue
		}
		m := Match{Rule: rec.text[rec.start:rec.end], Line: rec.line, Verdict: Disallow}
		if rec.key == allowKey {
			m.Verdict = Allow
		}
		path, ok := usable(rec.value(), rec.key == disallowKey && a.strict, a.origin)
		if !ok {
			continue
		}
		if folder, ok := c.folder(path); ok && m.Verdict == Allow && !c.matches(path, target) {
			path = folder + "$"
		}
		try(m, path)
	}
	return first, second
}

func (m *Match) beats(other *Match) bool {
	if m.Octets != other.Octets {
		return m.Octets > other.Octets
	}
	return m.Verdict == Allow && other.Verdict != Allow
}

// lost says why second does not decide.
func lost(first, second *Match) string {
	switch {
	case first.Octets > second.Octets:
		return fmt.Sprintf("fewer octets: %d against %d", second.Octets, first.Octets)
	case first.Verdict != second.Verdict:
		return "as many octets, and allow wins among equals"
	}
	return "as many octets and the same verdict; the first line is named"
}

// matches compares a rule's path with a target in the form that is compared.
func (c *comparison) matches(path, target string) bool {
	literal, anchor := strings.CutSuffix(path, "$")
	return c.matchWritten(nil, literal, anchor, target)
}

// showTarget writes a target in canonical form: as it is compared, but for the
// query, which is compared more freely.
func (c *comparison) showTarget(path string, resolved bool) string {
	shown := *c
	shown.query = c.path
	out, seam := shown.appendTarget(nil, path)
	if resolved {
		out = append(removeDots(nil, string(out[:seam])), out[seam:]...)
	}
	return string(out)
}
