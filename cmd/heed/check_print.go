package main

import (
	"bufio"
	"fmt"
	"strconv"
	"time"

	"heed/policy"
)

// print writes one result.
func (k *checker) print(out *bufio.Writer, url string, x *policy.Explanation, a *policy.Access) error {
	if k.json {
		r := newResult(url, x.Decision, a)
		r.ClientEntry = k.entry
		if k.explain {
			r.Explain = newExplained(x)
		}
		return printJSON(out, r)
	}
	line := append(k.line[:0], x.Verdict.String()...)
	for len(line) < len("disallow ") {
		line = append(line, ' ')
	}
	line = append(append(append(line, ' '), printable(url)...), "  "...)
	line = append(appendBecause(line, &x.Decision, a), '\n')
	if k.explain {
		line = appendExplained(line, x, a)
	}
	k.line = line
	_, err := out.Write(line)
	return err
}

// because is the reason of a decision for people, fit for a terminal.
func because(d policy.Decision, a policy.Access) string { return string(appendBecause(nil, &d, &a)) }

// appendBecause appends the reason of a decision for people.
func appendBecause(b []byte, d *policy.Decision, a *policy.Access) []byte {
	switch d.Reason {
	case policy.ReasonRule:
		b = strconv.AppendInt(append(b, "line "...), int64(d.Line), 10)
		b = append(append(b, ": "...), printable(d.Rule)...)
		b = append(append(b, " (group "...), d.Group...)
		if d.DisallowedBy != "" {
			b = append(append(b, ", profile "...), d.DisallowedBy...)
		}
		return append(b, ')')
	case policy.ReasonNoRule:
		return append(append(append(b, "no rule matches (group "...), d.Group...), ')')
	case policy.ReasonNoGroup:
		b = append(append(b, "no group applies to "...), d.Agent...)
		if what := a.Robots.Foreign(); what != "" {
			b = append(append(b, ": instead of a robots.txt there is "...), what...)
		}
		return b
	case policy.ReasonRobotsTXT:
		return append(b, "robots.txt itself is always allowed"...)
	case policy.ReasonUnavailable:
		return append(append(b, "no robots.txt: "...), printable(a.Cause)...)
	case policy.ReasonUnreachable:
		return append(append(b, "robots.txt is unreachable: "...), printable(a.Cause)...)
	case policy.ReasonOverride:
		return append(append(b, "override: "...), printable(d.Override)...)
	case policy.ReasonRestrictedTunnel:
		b = append(b, "the proxy would see no more than a tunnel, and not open it"...)
		if d.Line > 0 {
			b = fmt.Appendf(b, ": line %d: %s", d.Line, printable(d.Rule))
		}
		return b
	case policy.ReasonUnchecked:
		return append(b, "a tunnel that is opened unread"...)
	case policy.ReasonUnrestrictedTunnel:
		return append(b, "a tunnel, and nothing there is disallowed"...)
	case policy.ReasonEgressDenied:
		return append(b, printable(a.Cause)...)
	}
	return append(b, d.Reason...)
}

// appendExplained appends all that led to a decision, a line each.
func appendExplained(b []byte, x *policy.Explanation, a *policy.Access) []byte {
	add := func(name, format string, args ...any) {
		b = fmt.Appendf(b, "  %-9s  "+format+"\n", append([]any{name}, args...)...)
	}
	add("agent", "%s", orNone(x.Agent))
	for i, agent := range x.Agents {
		name := "group"
		if i > 0 {
			name = ""
		}
		add(name, "line %d: %s", agent.Line, printable(agent.Text))
	}
	if x.Profile != "" {
		add("profile", "%s", x.Profile)
		target := printable(x.Target)
		if x.Resolved {
			target += "  (dot segments resolved; both spellings have to be allowed)"
		}
		add("target", "%s", target)
	}
	if x.Winner != nil {
		add("rule", "%s", describe(x.Winner))
	}
	if x.RunnerUp != nil {
		add("runner-up", "%s", describe(x.RunnerUp))
		add("", "lost: %s", x.Lost)
	}
	for _, p := range x.Profiles {
		add("", "%s: %s", p.Profile, appendBecause([]byte(p.Verdict.String()+", "), &p, a))
	}
	if a.URL != "" {
		robots := a.URL
		if a.FinalURL != "" {
			robots += " -> " + a.FinalURL
		}
		add("robots", "%s", robots)
		if a.SHA256 != "" {
			add("", "sha256 %s", a.SHA256)
		}
		if a.MediaType != "" {
			add("", "served as %s, not as text/plain", printable(a.MediaType))
		}
	}
	return b
}

func describe(m *policy.Match) string {
	return fmt.Sprintf("line %d: %s  (compared as %s, %d octets)", m.Line, printable(m.Rule), printable(m.Pattern), m.Octets)
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

// result is the JSON form of a decision.
type result struct {
	URL          string         `json:"url"`
	Agent        string         `json:"agent,omitempty"`
	Verdict      policy.Verdict `json:"verdict"`
	Reason       policy.Reason  `json:"reason"`
	Group        string         `json:"group,omitempty"`
	Rule         string         `json:"rule,omitempty"`
	Line         int            `json:"line,omitempty"`
	Profile      policy.Profile `json:"profile,omitempty"`
	DisallowedBy policy.Profile `json:"disallowed_by,omitempty"`
	ClientEntry  int            `json:"client_entry,omitempty"`
	Override     string         `json:"override,omitempty"`
	Robots       *resultRobots  `json:"robots,omitempty"`
	Explain      *explained     `json:"explain,omitempty"`
}

type resultRobots struct {
	URL       string     `json:"url"`
	FinalURL  string     `json:"final_url,omitempty"`
	Status    int        `json:"status,omitempty"`
	SHA256    string     `json:"sha256,omitempty"`
	Retrieved *time.Time `json:"retrieved,omitempty"`
	Stale     bool       `json:"stale,omitempty"`
	Type      string     `json:"type,omitempty"`       // that the server gave, if not text/plain
	NotRobots string     `json:"not_robots,omitempty"` // what it is instead: it has no rules
}

func newResult(url string, d policy.Decision, a *policy.Access) result {
	r := result{URL: url, Agent: d.Agent, Verdict: d.Verdict, Reason: d.Reason, Group: d.Group, Rule: d.Rule, Line: d.Line, Profile: d.Profile, DisallowedBy: d.DisallowedBy, Override: d.Override}
	if a.URL != "" {
		r.Robots = &resultRobots{URL: a.URL, FinalURL: a.FinalURL, Status: a.Status, SHA256: a.SHA256, Stale: a.Stale, Type: a.MediaType, NotRobots: a.Robots.Foreign()}
		if !a.Retrieved.IsZero() {
			at := a.Retrieved.UTC()
			r.Robots.Retrieved = &at
		}
	}
	return r
}
