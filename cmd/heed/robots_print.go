package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// printTable prints one origin a line, for people.
func printTable(w io.Writer, all []cachedRobots) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "ORIGIN\tACCESS\tSTATUS\tAGE\tFRESH FOR\tSIZE\tWHERE\tNOTE")
	now := time.Now()
	for _, one := range all {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", one.Origin, one.access(), number(one.Status),
			since(now, one.Retrieved), until(now, one.Fresh), one.Size, one.Where, one.note())
	}
	return out.Flush()
}

// print is the long form for people. What is absent is left out.
func (c cachedRobots) print(w io.Writer) error {
	now := time.Now()
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"origin", c.Origin}, {"access", c.access()}, {"status", number(c.Status)}, {"url", c.URL}, {"final url", c.FinalURL},
		{"sha256", c.SHA256}, {"size", number(c.Size)}, {"type", c.Type}, {"not robots", c.NotRobots}, {"age", since(now, c.Retrieved)}, {"fresh for", until(now, c.Fresh)},
		{"cause", c.Cause}, {"failures", number(c.Failures)}, {"retry in", until(now, c.Retry)}, {"last used", since(now, c.Used)}, {"where", c.Where},
	} {
		if line[1] != "" && line[1] != "-" {
			fmt.Fprintf(out, "%s\t%s\n", line[0], printable(line[1]))
		}
	}
	return out.Flush()
}

func (c cachedRobots) access() string {
	if c.Stale {
		return c.Access + " (stale)"
	}
	return c.Access
}

func (c cachedRobots) note() string {
	var notes []string
	if c.FinalURL != "" {
		notes = append(notes, "from "+c.FinalURL)
	}
	if c.Type != "" {
		notes = append(notes, "served as "+c.Type)
	}
	if c.NotRobots != "" {
		notes = append(notes, "no rules: it is "+c.NotRobots)
	}
	if c.Cause != "" {
		notes = append(notes, c.Cause)
	}
	return printable(strings.Join(notes, "; "))
}

func number(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

func since(now time.Time, t *time.Time) string {
	if t == nil {
		return "-"
	}
	return now.Sub(*t).Round(time.Second).String()
}

func until(now time.Time, t *time.Time) string {
	switch {
	case t == nil:
		return "-"
	case t.Before(now):
		return "over"
	}
	return t.Sub(now).Round(time.Second).String()
}
