package policy

import (
	"fmt"
	"strings"
)

// A ruling is what the rules of one group are held against.
type ruling struct {
	*index
	stars   bool                    // some rule has an inner star
	forbids bool                    // and disallows
	bare    map[key]map[string]bool // patterns of allow and of disallow rules, without star and anchor
}

// group looks at the rules of one group.
func (l *linter) group(blocks []int) {
	x := &ruling{index: newIndex(rfc9309, &l.read, audience{blocks: blocks}), bare: map[key]map[string]bool{allowKey: {}, disallowKey: {}}}
	for i := range x.wild {
		x.stars, x.forbids = true, x.forbids || !x.wild[i].allow()
	}
	usable, empty := 0, 0
	escaped := map[int]record{} // by line
	for rec := range l.read.records(blocks) {
		value := rec.value()
		switch {
		case rec.key == agentKey:
		case value == "":
			empty++
		case pathLike(value):
			usable++
			if rfc9309.octets(value) != len(value) {
				escaped[rec.line] = rec.record
			}
			x.bare[rec.key][bare(value)] = true
		}
	}
	crowded := x.crowd()*usable > 16*len(l.text)
	for rec := range l.read.records(blocks) {
		if rec.key != agentKey && pathLike(rec.value()) {
			l.rule(x, &rec.record, crowded)
		}
	}
	if empty > 0 && usable > 0 {
		l.empty(blocks)
	}
	if len(escaped) > 0 {
		l.precedence(x.index, newIndex(decoded, &l.read, audience{blocks: blocks}), blocks, escaped)
	}
}

// crowd is how many rules with a star a target may have to be compared with.
func (x *index) crowd() int {
	most := int(x.always)
	for i := 1; i < len(x.buckets); i++ {
		most = max(most, int(x.buckets[i]-x.buckets[i-1]))
	}
	return most
}

// bare returns a rule's path in canonical form without star and anchor.
func bare(value string) string { return strings.TrimRight(rfc9309.show(value), "*$") }

// empty reports rules without a path in a group that has others.
func (l *linter) empty(blocks []int) {
	for rec := range l.read.records(blocks) {
		if rec.key != agentKey && rec.value() == "" {
			l.at(&rec.record, rec.start, "rule-without-effect", "a rule without a path matches nothing beside the others of its group", "remove it")
		}
	}
}

// cover returns a target that stands for all that a pattern matches: its own
// text, in which a star is an octet that only the star of a pattern can match.
func (c *comparison) cover(value string) (target string, forked bool) {
	literal, anchor := strings.CutSuffix(value, "$")
	p, out := c.appendPattern(nil, literal)
	if !p.same {
		literal = string(out[:p.size])
	}
	if !anchor {
		literal += wildcard
	}
	return literal, p.fork > 0
}

// rule asks which rule of the group decides on all that one of them matches: if
// it is another, this one never does. In a crowd of rules with a star that takes too
// long.
func (l *linter) rule(x *ruling, r *record, crowded bool) {
	u := l.useless[r.line]
	if u == nil {
		u = &useless{}
		l.useless[r.line] = u
	}
	u.groups++
	if crowded {
		return
	}
	value := l.text[r.from:r.to]
	s, forked := x.cover(value)
	best := x.lookup(s)
	if best.entry == nil || forked {
		return
	}
	code, message, remedy := "", "", ""
	if x.lineOf(best.entry) != r.line {
		code, message, remedy = beaten(x.index, r, best, value)
	} else if !strings.Contains(strings.TrimSuffix(s, wildcard), wildcard) && !(best.entry.starred() && best.entry.anchored()) {
		code, message, remedy = redundant(x, r, best.entry, value)
	}
	if code != "" {
		u.in++
		u.finding = newFinding(r.line, r.start-r.at+1, code, message, remedy)
	}
}

// redundant words the finding that a rule decides, but as another would.
func redundant(x *ruling, r *record, e *entry, value string) (code, message, remedy string) {
	allow, other := r.key == allowKey, allowKey
	if allow {
		other = disallowKey
	}
	switch i := e.link(); {
	case allow && x.forbids, !allow && x.stars, x.bare[other][bare(value)]:
		// A rule with a star may come between, or one that this one beats.
	case i == none && allow && len(x.prefixes)+len(x.wild) == 1:
		// Said for people, and often.
	case i == none && allow:
		return "rule-without-effect", "nothing disallows " + quote(value) + ", so allowing it changes nothing", "remove it, if nothing was forgotten"
	case i != none && x.prefixes[i].allow() == allow:
		longest := &x.prefixes[i]
		return "rule-without-effect", fmt.Sprintf("line %d (%s) says so already", x.lineOf(longest), quote(x.rule(longest))), "remove it"
	}
	return "", "", ""
}

// beaten words the finding that the best rule always beats another.
func beaten(x *index, r *record, best match, value string) (code, message, remedy string) {
	other, line := x.rule(best.entry), x.lineOf(best.entry)
	_, path, _ := strings.Cut(other, ":")
	same := x.show(trimmed(path)) == x.show(value)
	switch allow := r.key == allowKey; {
	case best.entry.allow() == allow && same:
		return "rule-without-effect", fmt.Sprintf("line %d (%s) says the same", line, quote(other)), "remove one of them"
	case best.entry.allow() == allow:
		return "rule-without-effect", fmt.Sprintf("line %d (%s) matches all that this rule does, and is longer", line, quote(other)), "remove it"
	case same:
		return "contradicting-rules", fmt.Sprintf("line %d (%s) has the same path; allow wins among equals, so this rule never does", line, quote(other)), "remove one of them"
	}
	return "shadowed-rule", fmt.Sprintf("line %d (%s) matches all that this rule does, and beats it with %d octets to %d",
		line, quote(other), best.octets, x.comparison.octets(value)), "make this path longer, or remove the rule"
}

// precedence reports rules whose escapes make crawlers that count them as written
// come to another verdict on some path that the group names.
func (l *linter) precedence(x, written *index, blocks []int, escaped map[int]record) {
	for rec := range l.read.records(blocks) {
		path := strings.NewReplacer("*", "", "$", "").Replace(rec.value())
		if rec.key == agentKey || !strings.HasPrefix(path, "/") {
			continue
		}
		ours, theirs := x.decide(path), written.decide(path)
		if ours.entry == nil || theirs.entry == nil || ours.disallows() == theirs.disallows() {
			continue
		}
		r, ok := escaped[written.lineOf(theirs.entry)]
		if !ok {
			if r, ok = escaped[x.lineOf(ours.entry)]; !ok {
				continue
			}
		}
		l.once(r.line, r.start-r.at+1, "escape-precedence",
			fmt.Sprintf("on %s line %d decides with %d octets; crawlers that count escapes as they are written follow line %d",
				quote(path), x.lineOf(ours.entry), ours.octets, written.lineOf(theirs.entry)),
			"write "+quote(rfc9309.show(l.text[r.from:r.to]))+", or make the rule that is to win longer")
	}
}
