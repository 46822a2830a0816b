package audit

import (
	"fmt"
	"strings"

	"heed/policy"
)

// An Outcome is what became of a record that was decided again.
type Outcome uint8

// The outcomes. The zero value has been decided by nothing.
const (
	NotDecided Outcome = iota // robots.txt had no part in it: an operator's exception, a failure, a bad request
	Same                      // the decision is the one recorded
	Different
	NoBody  // the robots.txt is not kept, or is damaged
	NoQuery // the query was decided on, and is not recorded
)

// String returns words for people.
func (o Outcome) String() string {
	switch o {
	case Same:
		return "same"
	case Different:
		return "different"
	case NoBody:
		return "robots.txt not kept"
	case NoQuery:
		return "query not recorded"
	}
	return "not decided by robots.txt"
}

// A Replayer decides records again. It belongs to one goroutine.
type Replayer struct {
	Robots  func(sha256 string) (*policy.Robots, error) // finds a file; required
	Profile policy.Profile                              // in the place of the recorded one; "": that one
	Tokens  []string                                    // in the place of the recorded agent; empty: that one
}

// A Replay is a record that was decided again.
type Replay struct {
	Outcome
	Was, Now policy.Decision
	Err      error // why there is no file; nil elsewhere
}

// WhatIf reports whether it is asked what would have been decided.
func (r *Replayer) WhatIf() bool { return r.Profile != "" || len(r.Tokens) > 0 }

// Replay decides e again. The second record of a tunnel or a WebSocket has the
// decision of the first and is decided like it.
func (r *Replayer) Replay(e *Entry) Replay {
	out := Replay{Was: recorded(e)}
	if e.Own() || !decided(e) {
		return out
	}
	file := e.File()
	if e.Query != nil && out.Was.Profile != "" {
		out.Outcome = NoQuery
		return out
	}
	access := policy.Access{URL: string(file.URL), SHA256: string(file.SHA256)}
	switch {
	case access.SHA256 != "":
		access.Result = policy.Successful
		if access.Robots, out.Err = r.Robots(access.SHA256); out.Err != nil {
			out.Outcome = NoBody
			return out
		}
	case out.Was.Reason == policy.ReasonUnavailable:
		access.Result = policy.Unavailable
	case out.Was.Verdict == policy.Error || out.Was.Reason == policy.ReasonRestrictedTunnel && out.Was.Group == "":
		return out // there was no decision, or one without a file
	}
	r.decide(&out, e, access)
	return out
}

// recorded is the decision that e tells of.
func recorded(e *Entry) policy.Decision {
	d := policy.Decision{
		Reason: policy.Reason(e.Reason), Agent: string(e.Agent), Group: string(e.Group), Rule: string(e.Rule), Line: e.RuleLine,
		Profile: policy.Profile(e.Profile), DisallowedBy: policy.Profile(e.DisallowedBy), Override: string(e.Override),
	}
	_ = d.Verdict.UnmarshalText(e.Verdict) // what is no verdict disallows
	return d
}

// decided reports whether robots.txt had a part in e.
func decided(e *Entry) bool {
	switch policy.Reason(e.Reason) {
	case policy.ReasonOverride, policy.ReasonUnchecked, policy.ReasonAuth, policy.ReasonBadRequest,
		policy.ReasonHostMismatch, policy.ReasonEgressDenied:
		return false
	}
	return true
}

// decide compares what is decided now with what is recorded.
func (r *Replayer) decide(out *Replay, e *Entry, a policy.Access) {
	was := out.Was
	profiles := []policy.Profile{r.Profile}
	if r.Profile == "" {
		profiles[0] = was.Profile
		if was.Profile == "" { // no path was compared, and so it is not known how it would have been
			profiles = policy.Profiles()
		}
	}
	for i, p := range profiles {
		s := policy.Settings{Profile: p, Tokens: r.Tokens, OnUnavailable: policy.Allow}
		if len(s.Tokens) == 0 {
			s.Tokens = []string{was.Agent}
		}
		// What is set for files that cannot be had is not recorded but for its effect.
		if a.Result == policy.Unavailable {
			s.OnUnavailable = was.Verdict
		} else if a.Result == policy.Unreachable {
			s.OnUnreachable = was.Verdict
		}
		now, err := again(s, e, a)
		if err != nil {
			return // the target is malformed: nothing was decided
		}
		if out.Outcome = compared(was, now, r.WhatIf()); i == 0 || out.Outcome == Same {
			out.Now = now
		}
		if out.Outcome == Same {
			return
		}
	}
}

func again(s policy.Settings, e *Entry, a policy.Access) (policy.Decision, error) {
	if string(e.Method) == "CONNECT" && !strings.Contains(string(e.URL), "://") {
		return s.Unrestricted(&a), nil
	}
	t, err := policy.ParseTarget(string(e.URL))
	if err != nil {
		return policy.Decision{}, err
	}
	return s.Decide(&a, t), nil
}

// compared compares two decisions. Where an exchange failed after its decision,
// which then had allowed it, only its rule is recorded. What would have been
// decided is compared by whether it would have been allowed.
func compared(was, now policy.Decision, whatIf bool) Outcome {
	allows := now.Allowed()
	carried := was.Verdict != policy.Disallow
	if was.Verdict == policy.Error {
		now.Verdict, now.Reason, carried = was.Verdict, was.Reason, true
	}
	now.Override = was.Override
	if was == now || whatIf && carried == allows {
		return Same
	}
	return Different
}

// Difference says in what two decisions differ.
func Difference(was, now policy.Decision) string {
	var parts []string
	add := func(name, a, b string) {
		if a != b {
			parts = append(parts, fmt.Sprintf("%s %s -> %s", name, orNone(a), orNone(b)))
		}
	}
	add("verdict", was.Verdict.String(), now.Verdict.String())
	add("reason", string(was.Reason), string(now.Reason))
	add("agent", was.Agent, now.Agent)
	add("group", was.Group, now.Group)
	add("rule", ruleOf(was), ruleOf(now))
	add("profile", string(was.Profile), string(now.Profile))
	add("disallowed_by", string(was.DisallowedBy), string(now.DisallowedBy))
	return strings.Join(parts, ", ")
}

func ruleOf(d policy.Decision) string {
	if d.Line == 0 && d.Rule == "" {
		return ""
	}
	return fmt.Sprintf("line %d: %s", d.Line, d.Rule)
}
