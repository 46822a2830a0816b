package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"heed/internal/audit"
	"heed/internal/config"
)

func auditCommand(e env) *cobra.Command {
	c := &cobra.Command{
		Use:   "audit",
		Short: "Read the decision log: verify, summary, tail, show, replay",
		Long: `Read decision logs. A FILE is plain, gzip or zstd, whatever its name says; - is
standard input. Without one it is the log of the configuration (audit.path).`,
		Args: noArgs,
	}
	c.AddCommand(auditVerify(e), auditSummary(e), auditTail(e), auditShow(e), auditReplay(e))
	return c
}

// auditRun is what the commands that read logs have in common.
type auditRun struct {
	env
	load   loader
	config config.Config
	json   bool
	all    bool // also the files that were put aside

	progress     progress
	filter       audit.Filter
	since, until string
}

// newAuditRun registers the flags that all of them have.
func newAuditRun(c *cobra.Command, e env) *auditRun {
	r := &auditRun{env: e, load: settings(c, e)}
	c.Flags().BoolVar(&r.json, "json", false, "print one JSON object a line")
	return r
}

// asideFlag is for commands that read whole logs.
func (r *auditRun) asideFlag(c *cobra.Command) {
	c.Flags().BoolVar(&r.all, "all", false, "read the files that rotation put aside of each FILE, too")
}

// filterFlags choose records.
func (r *auditRun) filterFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.since, "since", "", "only from this `TIME` on: 2026-03-01, 2026-03-01T14:00:00Z, or 24h ago as 24h")
	f.StringVar(&r.until, "until", "", "only before this `TIME`")
	f.StringVar(&r.filter.Host, "host", "", "only this `HOST`; *.example.org is all below it")
	f.StringVar(&r.filter.Verdict, "verdict", "", "only this `VERDICT`: allow, disallow or error")
	f.StringVar(&r.filter.Reason, "reason", "", "only this `REASON`")
	f.StringVar(&r.filter.User, "user", "", "only this `USER`")
}

// agentFlag chooses by agent.
func (r *auditRun) agentFlag(c *cobra.Command) {
	c.Flags().StringVarP(&r.filter.Agent, "agent", "a", "", "only this product `TOKEN`")
}

// begin loads the configuration and makes the filter ready. It returns the names
// of the files to be read.
func (r *auditRun) begin(names []string) ([]string, error) {
	loaded, err := r.load()
	if err != nil {
		return nil, err
	}
	r.config = loaded.Config
	now := time.Now()
	if r.filter.Since, err = pointInTime(r.since, now); err != nil {
		return nil, usage("a date, a time with its zone, or a duration", "--since %w", err)
	}
	if r.filter.Until, err = pointInTime(r.until, now); err != nil {
		return nil, usage("a date, a time with its zone, or a duration", "--until %w", err)
	}
	switch r.filter.Verdict {
	case "", "allow", "disallow", "error":
	default:
		return nil, usage("allow, disallow or error", "--verdict %q is none", r.filter.Verdict)
	}
	r.filter.Host = strings.ToLower(r.filter.Host)
	r.filter.Ready()
	r.progress = newProgress(r.stderr)
	if err := standardInputOnce(names...); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		path := r.config.Audit.Path
		if path == "" || path == "-" {
			return nil, usage("name a FILE, or - for standard input", "no FILE is given, and audit.path names none")
		}
		names = []string{path}
	}
	return r.withAside(names)
}

// withAside puts the files that were put aside before the logs they are of.
func (r *auditRun) withAside(names []string) ([]string, error) {
	if !r.all {
		return names, nil
	}
	var out []string
	for _, name := range names {
		if name != "-" {
			aside, err := audit.PutAside(name)
			if err != nil {
				return nil, unreadable(err)
			}
			out = append(out, aside...)
		}
		out = append(out, name)
	}
	return out, nil
}

// pointInTime reads a point in time; "" is none.
func pointInTime(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("%q is no time", s)
}

func unreadable(err error) error { return &failure{exitUnknown, err, ""} }

// lines hands out the lines of all files. The error of do ends it.
func (r *auditRun) lines(names []string, file func(string), do func(line []byte, ended bool) error) error {
	defer r.progress.clear()
	for _, name := range names {
		if err := r.linesOf(name, file, do); err != nil {
			return err
		}
	}
	return nil
}

func (r *auditRun) linesOf(name string, file func(string), do func(line []byte, ended bool) error) error {
	in, err := audit.OpenInput(name, r.stdin)
	if err != nil {
		return unreadable(err)
	}
	defer in.Close()
	if file != nil {
		file(name)
	}
	for n := 1; ; n++ {
		line, ended, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return unreadable(fmt.Errorf("%s: %w", name, err))
		}
		if n%1024 == 0 {
			r.progress.at(name, in.Done(), in.Size)
		}
		if err := do(line, ended); err != nil {
			return err
		}
	}
}

// entries hands out what the filter chooses, and counts the lines that are no
// records.
func (r *auditRun) entries(names []string, do func(*audit.Entry) error) (malformed uint64, err error) {
	var e audit.Entry
	err = r.lines(names, nil, func(line []byte, _ bool) error {
		switch err := e.Parse(line); {
		case err != nil:
			malformed++
			return nil
		case e.Own() && string(e.Event) == audit.EventTorn && malformed > 0:
			malformed-- // the log knows of that line
		}
		if !r.filter.Match(&e) {
			return nil
		}
		return do(&e)
	})
	return malformed, err
}

// interruptible is a context that the first interrupt ends.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt)
}
