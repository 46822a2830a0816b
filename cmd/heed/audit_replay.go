package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"heed/internal/audit"
	"heed/internal/audit/bodies"
	"heed/policy"
)

func auditReplay(e env) *cobra.Command {
	c := &cobra.Command{
		Use:   "replay [FILE...]",
		Short: "Decide the log again, and report every difference",
		Long: `Decide each record again, with the robots.txt that it names (audit.bodies, or
--bodies) and the profile and agent that it names, and report each decision that
comes out otherwise. With --profile or --agent, say what would have been decided.

What robots.txt had no part in (an operator's exception, a failure, a request that
was malformed) is not decided again, but counted. Where robots.txt could not be had,
the setting that then ruled is taken from the record.

Exit 0 without a difference, 1 with one, 3 when a robots.txt is not kept. With
--profile or --agent a difference is an answer, and no fault: exit 0.`,
		Example: `  heed audit replay --bodies /var/lib/heed/bodies audit.jsonl
  heed audit replay --profile strictest -a mybot audit.jsonl`,
		Args: cobra.ArbitraryArgs,
	}
	r := &replayRun{auditRun: newAuditRun(c, e)}
	r.asideFlag(c)
	r.filterFlags(c)
	c.Flags().StringVar(&r.dir, "bodies", "", "`FOLDER` of robots.txt files (default: audit.bodies)")
	c.Flags().StringVarP(&r.profile, "profile", "p", "", "decide under this `PROFILE`")
	c.Flags().StringSliceVarP(&r.tokens, "agent", "a", nil, "decide as for these product `TOKEN`s, most specific first")
	c.RunE = func(_ *cobra.Command, names []string) error {
		if r.profile != "" && !slices.Contains(policy.Profiles(), policy.Profile(r.profile)) {
			return usage(fmt.Sprint(policy.Profiles()), "--profile %q is none", r.profile)
		}
		names, err := r.begin(names)
		if err != nil {
			return err
		}
		if r.dir = cmp.Or(r.dir, r.config.Audit.Bodies); r.dir == "" {
			return usage("name the folder with --bodies; heed keeps them where audit.bodies says", "the robots.txt files are not at hand")
		}
		return r.run(names)
	}
	return c
}

type replayRun struct {
	*auditRun
	dir, profile string
	tokens       []string

	cache  map[string]*policy.Robots
	counts [5]uint64 // by outcome
	lacked map[string]bool
}

// maxCached bounds the parsed files that are kept, maxLacked the missing ones that
// are told of.
const (
	maxCached = 1000
	maxLacked = 100
)

// robots finds a file.
func (r *replayRun) robots(sum string) (*policy.Robots, error) {
	if known := r.cache[sum]; known != nil {
		return known, nil
	}
	body, err := bodies.Read(r.dir, sum)
	if err != nil {
		return nil, err
	}
	if len(r.cache) >= maxCached {
		clear(r.cache)
	}
	r.cache[sum] = policy.Parse(body)
	return r.cache[sum], nil
}

func (r *replayRun) run(names []string) error {
	r.cache, r.lacked = map[string]*policy.Robots{}, map[string]bool{}
	again := &audit.Replayer{Robots: r.robots, Profile: policy.Profile(r.profile), Tokens: r.tokens}
	malformed, err := r.entries(names, func(e *audit.Entry) error {
		if e.Own() {
			return nil
		}
		out := again.Replay(e)
		r.counts[out.Outcome]++
		switch out.Outcome {
		case audit.Different:
			return r.difference(e, out)
		case audit.NoBody:
			r.lack(e, out.Err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := r.sum(malformed); err != nil {
		return err
	}
	switch {
	case r.counts[audit.Different] > 0 && !again.WhatIf(), malformed > 0:
		return &failure{code: exitDisallow}
	case r.counts[audit.NoBody] > 0:
		return &failure{code: exitUnknown}
	}
	return nil
}

// different is a difference as JSON.
type different struct {
	ID  string         `json:"id"`
	URL string         `json:"url"`
	Was policyDecision `json:"was"`
	Now policyDecision `json:"now"`
}

type policyDecision struct {
	Verdict      policy.Verdict `json:"verdict"`
	Reason       policy.Reason  `json:"reason"`
	Agent        string         `json:"agent,omitempty"`
	Group        string         `json:"group,omitempty"`
	Rule         string         `json:"rule,omitempty"`
	Line         int            `json:"line,omitempty"`
	Profile      policy.Profile `json:"profile,omitempty"`
	DisallowedBy policy.Profile `json:"disallowed_by,omitempty"`
}

func decisionJSON(d policy.Decision) policyDecision {
	return policyDecision{d.Verdict, d.Reason, d.Agent, d.Group, d.Rule, d.Line, d.Profile, d.DisallowedBy}
}

func (r *replayRun) difference(e *audit.Entry, out audit.Replay) error {
	r.progress.clear()
	if r.json {
		return printJSON(r.stdout, different{ID: string(e.ID), URL: string(e.URL), Was: decisionJSON(out.Was), Now: decisionJSON(out.Now)})
	}
	_, err := fmt.Fprintf(r.stdout, "%s  %s %s\n    %s\n", printable(string(e.ID)), printable(string(e.Method)), printable(string(e.URL)),
		printable(audit.Difference(out.Was, out.Now)))
	return err
}

// lack tells of a file that is not there, once.
func (r *replayRun) lack(e *audit.Entry, err error) {
	sum := string(e.File().SHA256)
	if r.lacked[sum] || len(r.lacked) >= maxLacked {
		return
	}
	r.lacked[sum] = true
	r.progress.clear()
	fmt.Fprintf(r.stderr, "warning: robots.txt %s: %v\n", printable(sum), err)
}

func (r *replayRun) sum(malformed uint64) error {
	n := func(o audit.Outcome) uint64 { return r.counts[o] }
	if r.json {
		return printJSON(r.stdout, struct {
			Same       uint64 `json:"same"`
			Different  uint64 `json:"different"`
			NotDecided uint64 `json:"not_decided_by_robots"`
			NoBody     uint64 `json:"robots_not_kept"`
			NoQuery    uint64 `json:"query_not_recorded"`
			Malformed  uint64 `json:"malformed"`
		}{n(audit.Same), n(audit.Different), n(audit.NotDecided), n(audit.NoBody), n(audit.NoQuery), malformed})
	}
	for _, line := range []struct {
		n    uint64
		text string
		show bool
	}{
		{n(audit.Same), "decided the same", true},
		{n(audit.Different), "decided otherwise", true},
		{n(audit.NotDecided), "not decided by robots.txt", n(audit.NotDecided) > 0},
		{n(audit.NoBody), "not decided again: the robots.txt is not kept", n(audit.NoBody) > 0},
		{n(audit.NoQuery), "not decided again: the query is not recorded", n(audit.NoQuery) > 0},
		{malformed, "no records", malformed > 0},
	} {
		if !line.show {
			continue
		}
		if _, err := fmt.Fprintf(r.stdout, "%12s  %s\n", grouped(line.n), line.text); err != nil {
			return err
		}
	}
	return nil
}
