package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// JSON writes all that was measured.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Markdown writes the tables.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	r.preface(&b)
	for _, t := range r.Tables {
		t.markdown(&b)
	}
	r.memory(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) preface(b *strings.Builder) {
	m := r.Machine
	fmt.Fprintf(b, "`%s`, %s, %d rounds of %gs, in %s.\n\n", r.Command, r.Started.Format("2006-01-02"), r.Rounds, r.Seconds, r.Took)
	fmt.Fprintf(b, "%s, %d cores, %s; %s, Linux %s; %s; load average before: %s.\n\n", m.CPU, m.Cores, m.Memory, m.System, m.Kernel, m.Go, m.Load)
	if r.Profile {
		b.WriteString("**Profiled: heed's figures are not for comparison.**\n\n")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Peers)) {
		fmt.Fprintf(b, "- %s: %s\n", name, r.Peers[name])
	}
	if len(r.Missing) > 0 {
		fmt.Fprintf(b, "- not installed: %s\n", strings.Join(r.Missing, ", "))
	}
	b.WriteString("\nMedians, and (least to most) of all rounds. The last two columns are medians of the ratios within each round: " +
		"above 1, heed is ahead.\n")
}

func (t Table) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n", t.Work, t.About)
	b.WriteString("| | req/s | p50 ms | p99 ms | CPU µs/request | resident MB | heed's req/s ÷ | CPU ÷ heed's |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range t.Rows {
		ms := func(s Spread) string { return Spread{s.Median / 1000, s.Min / 1000, s.Max / 1000, s.N}.short() }
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", r.Peer, r.Rate, ms(r.P50), ms(r.P99), r.CPU, r.Resident.short(), r.RateRatio, r.CPURatio)
	}
	for _, r := range t.Rows {
		if len(r.Errors) > 0 {
			fmt.Fprintf(b, "\n%s failed in %d rounds: %s\n", r.Peer, len(r.Errors), strings.Join(strings.Fields(r.Errors[0]), " "))
		}
	}
}

func (r *Report) memory(b *strings.Builder) {
	if len(r.Memory) == 0 {
		return
	}
	n := r.Memory[0].Connections
	fmt.Fprintf(b, "\n### memory\n\nResident MB: idle, and with %d connections that each had one answer and stay open.\n\n", n)
	fmt.Fprintf(b, "| | idle | %d plain | %d intercepted |\n|---|--:|--:|--:|\n", n, n)
	for _, m := range r.Memory {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", m.Peer, m.Idle, m.Plain, m.Intercepted)
	}
	for _, m := range r.Memory {
		if len(m.Errors) > 0 {
			fmt.Fprintf(b, "\n%s failed: %s\n", m.Peer, strings.Join(strings.Fields(m.Errors[0]), " "))
		}
	}
}

// String has the median and the extremes.
func (s Spread) String() string {
	if s.N < 2 {
		return s.short()
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.Median), number(s.Min), number(s.Max))
}

// short has the median alone.
func (s Spread) short() string {
	if s.N == 0 {
		return ""
	}
	return number(s.Median)
}

// number has three digits that mean something.
func number(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}
