package main

import "heed/policy"

// explained is the JSON form of what led to a decision.
type explained struct {
	Agents   []explainedAgent `json:"agents,omitempty"`
	Target   string           `json:"target"`
	Resolved bool             `json:"resolved,omitempty"`
	Pattern  string           `json:"pattern,omitempty"`
	Octets   int              `json:"octets,omitempty"`
	RunnerUp *explainedMatch  `json:"runner_up,omitempty"`
	Profiles []explainedUnder `json:"profiles,omitempty"`
}

type explainedAgent struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

type explainedMatch struct {
	Rule    string         `json:"rule"`
	Line    int            `json:"line"`
	Verdict policy.Verdict `json:"verdict"`
	Pattern string         `json:"pattern"`
	Octets  int            `json:"octets"`
	Lost    string         `json:"lost"`
}

type explainedUnder struct {
	Profile policy.Profile `json:"profile"`
	Verdict policy.Verdict `json:"verdict"`
	Rule    string         `json:"rule,omitempty"`
	Line    int            `json:"line,omitempty"`
}

func newExplained(x *policy.Explanation) *explained {
	e := &explained{Target: x.Target, Resolved: x.Resolved}
	for _, a := range x.Agents {
		e.Agents = append(e.Agents, explainedAgent(a))
	}
	if x.Winner != nil {
		e.Pattern, e.Octets = x.Winner.Pattern, x.Winner.Octets
	}
	if r := x.RunnerUp; r != nil {
		e.RunnerUp = &explainedMatch{r.Rule, r.Line, r.Verdict, r.Pattern, r.Octets, x.Lost}
	}
	for _, d := range x.Profiles {
		e.Profiles = append(e.Profiles, explainedUnder{d.Profile, d.Verdict, d.Rule, d.Line})
	}
	return e
}
