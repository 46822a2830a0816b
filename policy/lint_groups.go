package policy

import (
	"fmt"
	"slices"
	"strings"
)

// groups looks at what the groups say, each of them as merged.
func (l *linter) groups() {
	type member struct{ blocks, lines []int }
	tokens := map[string]*member{}
	var order []string
	for i := range l.read.blocks {
		rec := l.read.block(i)
		for rec.next() && rec.key == agentKey {
			token := strings.ToLower(heed.agentName(rec.value()))
			if token == "" {
				continue
			}
			m := tokens[token]
			if m == nil {
				m = &member{}
				tokens[token] = m
				order = append(order, token)
			}
			if n := len(m.blocks); n > 0 && m.blocks[n-1] == i {
				continue
			}
			m.blocks, m.lines = append(m.blocks, i), append(m.lines, rec.line)
		}
	}
	seen := map[string]bool{}
	budget := 8 * (len(l.text) + 4096) // keeps groups that share their blocks in odd ways from costing a product
	for _, token := range order {
		m := tokens[token]
		l.repeated(token, m.blocks, m.lines)
		if key := fmt.Sprint(m.blocks); !seen[key] {
			seen[key] = true
			for _, i := range m.blocks {
				budget -= len(l.read.block(i).text) - int(l.read.blocks[i].at)
			}
			if budget < 0 {
				return // then nothing is known of rules in all their groups
			}
			l.group(m.blocks)
		}
	}
	for _, u := range l.useless {
		if u.in == u.groups {
			l.findings = append(l.findings, u.finding)
		}
	}
}

// repeated reports a token that several groups name.
func (l *linter) repeated(token string, blocks, lines []int) {
	if len(blocks) < 2 {
		return
	}
	for i := 1; i < len(blocks); i++ {
		if l.inManaged(lines[i]) != l.inManaged(lines[0]) {
			l.conflict(token, blocks, lines)
			return
		}
	}
	for _, line := range lines[1:] {
		l.report(line, 1, "repeated-group", fmt.Sprintf("%s has a group in line %d already; RFC 9309 merges them, but some crawlers read one only", quote(token), lines[0]),
			"put the rules under one group")
	}
}

// marker notes where blocks begin and end that a CDN manages, which say so in a
// comment.
func (l *linter) marker(s *lines) {
	line := l.text[s.from:s.to]
	if !strings.HasPrefix(line, "#") || len(line) > 200 {
		return
	}
	low := strings.ToLower(line)
	if !strings.Contains(low, "managed") {
		return
	}
	switch n := len(l.managed); {
	case strings.Contains(low, "begin"):
		l.managed = append(l.managed, [2]int{s.number, 0})
	case strings.Contains(low, "end") && n > 0 && l.managed[n-1][1] == 0:
		l.managed[n-1][1] = s.number
	}
}

func (l *linter) inManaged(line int) bool {
	return slices.ContainsFunc(l.managed, func(m [2]int) bool { return m[0] < line && line < m[1] })
}

// conflict reports a token that both a managed block and the site itself name,
// where their rules, taken together, are not what the site's own say.
func (l *linter) conflict(token string, blocks, lines []int) {
	var own []int
	ownLine := 0
	for i, b := range blocks {
		if l.inManaged(lines[i]) {
			continue
		}
		if own = append(own, b); ownLine == 0 {
			ownLine = lines[i]
		}
	}
	alone := newIndex(rfc9309, &l.read, audience{blocks: own})
	merged := newIndex(rfc9309, &l.read, audience{blocks: blocks})
	for rec := range l.read.records(blocks) {
		if rec.key == agentKey || !pathLike(rec.value()) {
			continue
		}
		s, _ := rfc9309.cover(rec.value())
		before, after := alone.lookup(s), merged.lookup(s)
		if before.disallows() == after.disallows() {
			continue
		}
		l.report(ownLine, 1, "managed-conflict",
			fmt.Sprintf("the managed block in line %d also has rules for %s; with them, %s in line %d decides on %s, which the site's own rules %s",
				l.managed[0][0], quote(token), quote(merged.rule(after.entry)), merged.lineOf(after.entry), quote(strings.TrimSuffix(s, "*")), would(before)),
			"turn the managed block off, or write rules that are longer than its own")
		return
	}
	l.report(ownLine, 1, "repeated-group", fmt.Sprintf("%s has a group in the managed block in line %d too; RFC 9309 merges them, but some crawlers read one only", quote(token), l.managed[0][0]),
		"put the rules under one group")
}

func would(m match) string {
	if m.disallows() {
		return "disallow"
	}
	return "allow"
}
