package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"heed/internal/audit"
)

// print prints tables that fit into 80 columns, or into those of the terminal.
func (s *summaryRun) print(sum *audit.Summary) error {
	columns, ok := onTerminal(s.stdout)
	if !ok {
		columns = defaultColumns
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s decisions", grouped(sum.Total.Decisions))
	if sum.First() != "" {
		fmt.Fprintf(&out, ", %s to %s UTC", clock(sum.First()), clock(sum.Last()))
	}
	fmt.Fprintf(&out, "\n%s allowed, %s disallowed, %s errors\n", grouped(sum.Total.Allowed), grouped(sum.Total.Disallow), grouped(sum.Total.Errors))
	if sum.Monitored > 0 {
		fmt.Fprintf(&out, "%s of the disallowed were only noted (monitor mode)\n", grouped(sum.Monitored))
	}
	if sum.Lost > 0 {
		fmt.Fprintf(&out, "%s records were lost while the log could not be written\n", grouped(sum.Lost))
	}
	for _, t := range sum.Tables() {
		s.table(&out, &t, columns)
	}
	_, err := s.stdout.Write(out.Bytes())
	return err
}

// number columns of a table, each with two spaces before it.
var countNames = []string{"DECISIONS", "ALLOWED", "DISALLOWED", "ERRORS"}

func (s *summaryRun) table(out *bytes.Buffer, t *audit.Table, columns int) {
	rows, left := s.rows(t)
	if len(rows) == 0 {
		return
	}
	width := make([]int, len(countNames))
	for i, name := range countNames {
		width[i] = len(name)
		for _, r := range rows {
			width[i] = max(width[i], len(cells(r.Counts)[i]))
		}
	}
	space := columns
	for _, w := range width {
		space -= w + 2
	}
	key := len(t.By)
	for _, r := range rows {
		key = max(key, len([]rune(printable(r.Key))))
	}
	key = max(min(key, space), len(t.By))
	line := func(name string, values []string) {
		fmt.Fprintf(out, "%s%s", name, strings.Repeat(" ", key-len([]rune(name))))
		for i, v := range values {
			fmt.Fprintf(out, "  %*s", width[i], v)
		}
		out.WriteByte('\n')
	}
	out.WriteByte('\n')
	line(strings.ToUpper(t.By), countNames)
	for _, r := range rows {
		line(shorten(printable(r.Key), key), cells(r.Counts))
	}
	if left > 0 {
		fmt.Fprintf(out, "and %s more; --top %d shows twice as many\n", grouped(uint64(left)), 2*s.top)
	}
	if t.Others.Decisions > 0 {
		fmt.Fprintf(out, "%s decisions of rare ones are counted together; a count may be %s too low\n", grouped(t.Others.Decisions), grouped(t.Slack))
	}
}

func cells(c audit.Counts) []string {
	return []string{grouped(c.Decisions), grouped(c.Allowed), grouped(c.Disallow), grouped(c.Errors)}
}

// grouped is n in groups of three digits.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// clock is a time of the log to the second.
func clock(t string) string {
	if len(t) < len("2026-03-01T14:00:00") {
		return printable(t)
	}
	return printable(t[:10] + " " + t[11:19])
}
