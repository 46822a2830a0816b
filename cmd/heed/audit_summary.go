package main

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"heed/internal/audit"
)

func auditSummary(e env) *cobra.Command {
	c := &cobra.Command{
		Use:   "summary [FILE...]",
		Short: "Count decisions by verdict, reason, host, rule, agent, client, user, hour",
		Long: `Count decisions. The end of a tunnel or a WebSocket is not counted, since its
beginning was. Counts are exact up to 100,000 different keys a table; beyond, the
rarest are counted together, and the table says so.`,
		Example: `  heed audit summary audit.jsonl
  heed audit summary --since 24h --by host,rule --verdict disallow --top 50 audit.jsonl
  heed audit summary --all --csv audit.jsonl > month.csv`,
		Args: cobra.ArbitraryArgs,
	}
	s := &summaryRun{auditRun: newAuditRun(c, e)}
	s.asideFlag(c)
	s.filterFlags(c)
	s.agentFlag(c)
	c.Flags().StringSliceVar(&s.by, "by", nil, "tables, in this order, of `"+strings.Join(audit.Dimensions, ", ")+"` (default: all but client and hour)")
	c.Flags().IntVar(&s.top, "top", 10, "rows of each table; 0 is all")
	c.Flags().BoolVar(&s.csv, "csv", false, "print CSV (RFC 4180), all tables in one")
	c.RunE = func(_ *cobra.Command, names []string) error {
		for _, by := range s.by {
			if !slices.Contains(audit.Dimensions, by) {
				return usage(strings.Join(audit.Dimensions, ", "), "--by %q is not one of the tables", by)
			}
		}
		if s.csv && s.json || s.top < 0 {
			return usage("one of --csv and --json, and --top 0 or more", "these flags do not go together")
		}
		if len(s.by) == 0 {
			s.by = []string{"verdict", "reason", "host", "rule", "agent", "user"}
		}
		names, err := s.begin(names)
		if err != nil {
			return err
		}
		return s.run(names)
	}
	return c
}

type summaryRun struct {
	*auditRun
	by  []string
	top int
	csv bool
}

func (s *summaryRun) run(names []string) error {
	sum := audit.NewSummary(s.by...)
	malformed, err := s.entries(names, func(e *audit.Entry) error {
		sum.Add(e)
		return nil
	})
	if err != nil {
		return err
	}
	sum.Malformed = malformed
	switch {
	case s.json:
		err = s.printJSON(sum)
	case s.csv:
		err = s.printCSV(sum)
	default:
		err = s.print(sum)
	}
	if err == nil && malformed > 0 {
		err = &failure{exitDisallow, fmt.Errorf("%d lines are no records", malformed), "'heed audit verify' tells which"}
	}
	return err
}

// rows are the rows of a table that are shown, and what is left out.
func (s *summaryRun) rows(t *audit.Table) (rows []audit.Row, left int) {
	rows = t.Rows()
	if s.top > 0 && len(rows) > s.top && t.By != "hour" {
		return rows[:s.top], len(rows) - s.top
	}
	return rows, 0
}

// countRow is a row as JSON.
type countRow struct {
	By  string `json:"by"`
	Key string `json:"key,omitempty"`
	audit.Counts
	Slack uint64 `json:"slack,omitempty"`
}

func (s *summaryRun) printJSON(sum *audit.Summary) error {
	if err := printJSON(s.stdout, struct {
		countRow
		Monitored uint64 `json:"not_enforced,omitempty"`
		Lost      uint64 `json:"lost,omitempty"`
		Malformed uint64 `json:"malformed,omitempty"`
		First     string `json:"first,omitempty"`
		Last      string `json:"last,omitempty"`
	}{countRow{By: "total", Counts: sum.Total}, sum.Monitored, sum.Lost, sum.Malformed, sum.First(), sum.Last()}); err != nil {
		return err
	}
	for _, t := range sum.Tables() {
		rows, _ := s.rows(&t)
		for _, r := range rows {
			if err := printJSON(s.stdout, countRow{t.By, r.Key, r.Counts, t.Slack}); err != nil {
				return err
			}
		}
		if t.Others.Decisions > 0 {
			if err := printJSON(s.stdout, countRow{By: t.By + "-others", Counts: t.Others}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *summaryRun) printCSV(sum *audit.Summary) error {
	w := csv.NewWriter(s.stdout)
	w.UseCRLF = true // RFC 4180 2
	line := func(by, key string, c audit.Counts) {
		n := func(n uint64) string { return strconv.FormatUint(n, 10) }
		_ = w.Write([]string{by, spreadsheet(key), n(c.Decisions), n(c.Allowed), n(c.Disallow), n(c.Errors)}) // Flush tells
	}
	_ = w.Write([]string{"by", "key", "decisions", "allowed", "disallowed", "errors"})
	line("total", "", sum.Total)
	for _, t := range sum.Tables() {
		rows, _ := s.rows(&t)
		for _, r := range rows {
			line(t.By, r.Key, r.Counts)
		}
		if t.Others.Decisions > 0 {
			line(t.By+"-others", "", t.Others)
		}
	}
	w.Flush()
	return w.Error()
}

// spreadsheet keeps a text that a stranger chose from being a formula.
func spreadsheet(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
