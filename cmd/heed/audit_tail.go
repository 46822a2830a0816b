package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"heed/internal/audit"
	"heed/policy"
)

func auditTail(e env) *cobra.Command {
	c := &cobra.Command{
		Use:   "tail [FILE]",
		Short: "Show the last decisions, and with -f those to come",
		Long: `Show the last decisions, one line each. With -f go on until interrupted, also
when the file is rotated. Colours are for terminals; NO_COLOR turns them off.`,
		Example: `  heed audit tail -f --verdict disallow audit.jsonl
  heed serve | heed audit tail -n 0 -f -`,
		Args: cobra.MaximumNArgs(1),
	}
	t := &tailRun{auditRun: newAuditRun(c, e)}
	t.filterFlags(c)
	t.agentFlag(c)
	c.Flags().IntVarP(&t.n, "lines", "n", 10, "how many of the last decisions")
	c.Flags().BoolVarP(&t.follow, "follow", "f", false, "go on with those to come")
	c.RunE = func(_ *cobra.Command, names []string) error {
		if t.n < 0 {
			return usage("0 or more", "--lines %d", t.n)
		}
		names, err := t.begin(names)
		if err != nil {
			return err
		}
		_, t.colour = onTerminal(t.stdout)
		t.colour = t.colour && t.getenv("NO_COLOR") == ""
		ctx, stop := interruptible()
		defer stop()
		return t.run(ctx, names[0])
	}
	return c
}

type tailRun struct {
	*auditRun
	n      int
	follow bool
	colour bool
	out    *bufio.Writer
	buf    []byte
}

func (t *tailRun) run(ctx context.Context, name string) error {
	t.out = bufio.NewWriter(t.stdout)
	if t.follow && name == "-" {
		// What comes is shown as it comes: nobody knows which will be the last.
		_, err := t.entries([]string{name}, func(e *audit.Entry) error { return t.print(e, true) })
		return err
	}
	last := audit.NewLast(t.n)
	keep := func(e *audit.Entry) error { last.Add(e.Line); return nil }
	if !t.follow {
		if _, err := t.entries([]string{name}, keep); err != nil {
			return err
		}
		return t.printLast(last)
	}
	return t.followFile(ctx, name, last, keep)
}

// followFile reads the file once: up to what is its end at first, of which the
// last lines are shown, and then on.
func (t *tailRun) followFile(ctx context.Context, name string, last *audit.Last, keep func(*audit.Entry) error) error {
	var e audit.Entry
	do := keep
	err := audit.Follow(ctx, name, func() error {
		if do != nil {
			do = nil
			return t.printLast(last)
		}
		return nil
	}, func(line []byte) error {
		if e.Parse(line) != nil || !t.filter.Match(&e) {
			return nil
		}
		if do != nil {
			return do(&e)
		}
		return t.print(&e, true)
	})
	if err != nil {
		return unreadable(err)
	}
	return nil
}

func (t *tailRun) printLast(last *audit.Last) error {
	var e audit.Entry
	for _, line := range last.Lines() {
		if err := e.Parse(line); err != nil {
			return err
		}
		if err := t.print(&e, false); err != nil {
			return err
		}
	}
	return t.out.Flush()
}

// print prints one decision.
func (t *tailRun) print(e *audit.Entry, flush bool) error {
	t.buf = t.buf[:0]
	if t.json {
		t.buf = append(append(t.buf, e.Line...), '\n')
	} else {
		t.buf = t.appendLine(t.buf, e)
	}
	if _, err := t.out.Write(t.buf); err != nil || !flush {
		return err
	}
	return t.out.Flush()
}

// Colours of verdicts (ECMA-48 8.3.117).
var verdictColours = map[string]string{"allow": "\x1b[32m", "disallow": "\x1b[31m", "error": "\x1b[33m"}

// appendLine writes what happened, in which order, by whom, and why.
func (t *tailRun) appendLine(b []byte, e *audit.Entry) []byte {
	if e.Own() {
		return fmt.Appendf(b, "%s  %-8s  %s\n", clock(string(e.Time)), printable(string(e.Event)), printable(string(e.Error)))
	}
	verdict := printable(string(e.Verdict))
	colour := verdictColours[verdict]
	if !t.colour {
		colour = ""
	}
	b = fmt.Appendf(b, "%s  %s%-8s", clock(string(e.Time)), colour, verdict)
	if colour != "" {
		b = append(b, "\x1b[0m"...)
	}
	status := "-"
	if e.Status > 0 {
		status = fmt.Sprint(e.Status)
	}
	b = fmt.Appendf(b, "  %3s  %s %s", status, printable(string(e.Method)), printable(string(e.URL)))
	if event := string(e.Event); event != "exchange" && event != "" {
		b = fmt.Appendf(b, "  (%s)", printable(event))
	}
	b = fmt.Appendf(b, "  %s", entryBecause(e))
	if !e.Enforced && verdict == "disallow" {
		b = append(b, ", only noted"...)
	}
	return append(bytes.TrimRight(b, " "), '\n')
}

// entryBecause is the reason of a recorded decision for people.
func entryBecause(e *audit.Entry) string {
	reason := policy.Reason(e.Reason)
	if reason == policy.ReasonUnavailable || reason == policy.ReasonUnreachable {
		// The cause is not recorded, but the status is.
		text := "robots.txt is " + string(reason)
		if status := e.File().Status; status > 0 {
			text += fmt.Sprintf(": HTTP status %d", status)
		}
		return text
	}
	text := because(policy.Decision{
		Reason: reason, Rule: string(e.Rule), Line: e.RuleLine, Group: printable(string(e.Group)), Agent: printable(string(e.Agent)),
		DisallowedBy: policy.Profile(printable(string(e.DisallowedBy))), Override: string(e.Override),
	}, policy.Access{Cause: string(reason)})
	if e.Error != nil {
		text += ": " + printable(string(e.Error))
	}
	return printable(text)
}
