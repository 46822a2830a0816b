package report

import (
	"strings"
	"testing"
)

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Spread
	}{
		{nil, Spread{}},
		{[]float64{3}, Spread{3, 3, 3, 1}},
		{[]float64{9, 1, 2}, Spread{2, 1, 9, 3}},
		{[]float64{4, 1, 2, 9}, Spread{3, 1, 9, 4}},
	} {
		if got := Of(c.values); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.values, got, c.want)
		}
	}
}

// Ratios are taken within each round, and not between medians: a machine that is
// slow for a while is slow for both.
func TestRatiosAreOfPairs(t *testing.T) {
	table := Table{Work: "plain", Rows: []Row{
		{Peer: "other", Samples: []*Sample{{Rate: 100, CPU: 30, Resident: 5}, {Rate: 10, CPU: 300, Resident: 5}, {Rate: 50, CPU: 9, Resident: 5}}},
		{Peer: Base, Samples: []*Sample{{Rate: 200, CPU: 10, Resident: 7}, {Rate: 20, CPU: 100, Resident: 7}, nil}},
		{Peer: "direct", Samples: []*Sample{{Rate: 400}, {Rate: 80}, {Rate: 80}}},
		{Peer: "failed", Samples: []*Sample{nil, nil, nil}, Errors: []string{"EOF", "EOF", "EOF"}},
	}}
	table.Sum()
	other, direct, failed := table.Rows[0], table.Rows[2], table.Rows[3]
	if want := (Spread{2, 2, 2, 2}); other.RateRatio != want {
		t.Errorf("rates: %+v, want %+v", other.RateRatio, want)
	}
	if want := (Spread{3, 3, 3, 2}); other.CPURatio != want {
		t.Errorf("CPU: %+v, want %+v", other.CPURatio, want)
	}
	if want := (Spread{0.375, 0.25, 0.5, 2}); direct.RateRatio != want || direct.CPU.N+direct.Resident.N+direct.CPURatio.N != 0 {
		t.Errorf("direct: %+v", direct)
	}
	if failed.Rate.N != 0 || failed.RateRatio.N != 0 {
		t.Errorf("failed: %+v", failed)
	}
	var b strings.Builder
	table.markdown(&b)
	for _, want := range []string{"| other | 50.0 (10.0–100) |", "| 2.00 (2.00–2.00) | 3.00 (3.00–3.00) |\n", "\nfailed failed in 3 rounds: EOF\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}

func TestHere(t *testing.T) {
	if m := Here(); m.CPU == "" || m.Cores < 1 || m.Kernel == "" || !strings.HasPrefix(m.Go, "go") || len(strings.Fields(m.Load)) != 3 {
		t.Errorf("got %+v", m)
	}
}
