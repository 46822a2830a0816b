package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"heed/policy"
	"heed/proxy"
)

// tally counts what became of requests. It is safe for concurrent use; the zero
// value is empty.
type tally struct {
	mu       sync.Mutex
	requests int
	refused  int // also what monitor mode would have refused
	errors   int
	by       map[refusedBy]int
	beyond   int // refusals by rules that are not told apart any more
}

// refusedBy is what refusals are counted by.
type refusedBy struct {
	Origin string        `json:"origin,omitempty"`
	Reason policy.Reason `json:"reason"`
	Group  string        `json:"group,omitempty"`
	Rule   string        `json:"rule,omitempty"`
	Line   int           `json:"line,omitempty"`
	Cause  string        `json:"cause,omitempty"`
}

// maxTold bounds how many rules of sites are told apart: a crawl may meet many.
const maxTold = 10_000

func (t *tally) add(r *proxy.Record) {
	if r.Event == proxy.EventClose {
		return // it was counted when it opened
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	switch r.Decision.Verdict {
	case policy.Allow:
		return
	case policy.Error:
		t.errors++
		return
	}
	t.refused++
	key := refusedBy{originOf(r), r.Decision.Reason, r.Decision.Group, r.Decision.Rule, r.Decision.Line, r.Access.Cause}
	if _, told := t.by[key]; !told && len(t.by) >= maxTold {
		t.beyond++
		return
	}
	if t.by == nil {
		t.by = map[refusedBy]int{}
	}
	t.by[key]++
}

// originOf returns the origin of a record's target, or the target of a CONNECT.
func originOf(r *proxy.Record) string {
	if target, err := policy.ParseTarget(r.URL); err == nil {
		return target.Origin.String()
	}
	return r.URL
}

// counted is a line of the summary.
type counted struct {
	refusedBy
	Count int `json:"count"`
}

// sorted returns the refusals, the commonest first.
func (t *tally) sorted() []counted {
	out := make([]counted, 0, len(t.by))
	for by, n := range t.by {
		out = append(out, counted{by, n})
	}
	slices.SortFunc(out, func(a, b counted) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Cause, b.Cause))
	})
	return out
}

// maxShown bounds the lines of the summary for people.
const maxShown = 20

// summarise prints the summary, unless the run is quiet, and writes the report.
func (r *runner) summarise(code int, took time.Duration) error {
	t := &r.tally
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.sorted()
	r.remark("%d requests, %d refused, %d failed", t.requests, t.refused, t.errors)
	for i, c := range list {
		if i == maxShown {
			r.remark("  and %d more; --report FILE has them all", len(list)-i)
			break
		}
		r.remark("  %d × %s  %s", c.Count, c.Origin,
			because(policy.Decision{Reason: c.Reason, Rule: c.Rule, Line: c.Line, Group: c.Group}, policy.Access{Cause: c.Cause}))
	}
	if r.reportFile == nil {
		return nil
	}
	data, err := json.MarshalIndent(struct {
		Requests   int       `json:"requests"`
		Refused    int       `json:"refused"`
		Errors     int       `json:"errors"`
		ExitCode   int       `json:"exit_code"`
		DurationMS float64   `json:"duration_ms"`
		Refusals   []counted `json:"refusals"`
		Beyond     int       `json:"refusals_not_listed,omitempty"`
	}{t.requests, t.refused, t.errors, code, float64(took) / float64(time.Millisecond), list, t.beyond}, "", "  ")
	if err != nil {
		return err
	}
	_, err = r.reportFile.Write(append(data, '\n'))
	if err = errors.Join(err, r.reportFile.Close()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// openReport makes the report's file, so that a path which cannot be written is
// known before the command has run.
func (r *runner) openReport() error {
	if r.report == "" {
		return nil
	}
	f, err := os.Create(r.report)
	if err != nil {
		return usage("--report names a file that can be written", "report: %w", err)
	}
	r.reportFile = f
	return nil
}
