// Package report sums up what the benchmark measured, as Markdown and as JSON.
package report

import (
	"slices"
	"time"
)

// Report is a whole run.
type Report struct {
	Command string            `json:"command"`
	Started time.Time         `json:"started"`
	Took    string            `json:"took"`
	Rounds  int               `json:"rounds"`
	Seconds float64           `json:"seconds"` // of one measurement
	Profile bool              `json:"profiled,omitempty"`
	Machine Machine           `json:"machine"`
	Peers   map[string]string `json:"peers"` // with their versions
	Missing []string          `json:"missing,omitempty"`
	Tables  []Table           `json:"works"`
	Memory  []Memory          `json:"memory,omitempty"`
}

// Table is one work done by all who can.
type Table struct {
	Work  string `json:"work"`
	About string `json:"about"`
	Rows  []Row  `json:"peers"`
}

// Row is one peer's doing.
type Row struct {
	Peer    string    `json:"peer"`
	Samples []*Sample `json:"samples"` // one a round; null where it failed
	Errors  []string  `json:"errors,omitempty"`

	Rate     Spread `json:"requests_per_second"`
	P50      Spread `json:"p50_us"`
	P99      Spread `json:"p99_us"`
	CPU      Spread `json:"cpu_us_per_request"`
	Resident Spread `json:"resident_mb"`

	// How many times better heed is in the same round: its rate over the peer's,
	// and the peer's processor time over its own.
	RateRatio Spread `json:"heed_rate_over_peer"`
	CPURatio  Spread `json:"peer_cpu_over_heed"`
}

// Sample is one round's measurement. CPU and Resident are 0 where there is no
// proxy.
type Sample struct {
	Requests float64 `json:"requests"`
	Failed   int     `json:"failed,omitempty"`
	Rate     float64 `json:"requests_per_second"`
	P50      float64 `json:"p50_us"`
	P99      float64 `json:"p99_us"`
	CPU      float64 `json:"cpu_us_per_request,omitempty"`
	Resident float64 `json:"resident_mb,omitempty"`
}

// Memory is what a peer holds resident, in MB: idle, and with so many idle
// connections that each had one answer. 0 is what it does not do.
type Memory struct {
	Peer        string   `json:"peer"`
	Connections int      `json:"connections"`
	Idle        Spread   `json:"idle_mb"`
	Plain       Spread   `json:"plain_mb"`
	Intercepted Spread   `json:"intercepted_mb"`
	Errors      []string `json:"errors,omitempty"`
}

// Spread is a median with the least and the most. The zero value is of nothing.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	N      int     `json:"n"`
}

// Of is the spread of values.
func Of(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1], N: n}
}

// Base is the peer that all others are compared with.
const Base = "heed"

// Sum computes the spreads and ratios of all rows out of their samples.
func (t *Table) Sum() {
	var base []*Sample
	for _, r := range t.Rows {
		if r.Peer == Base {
			base = r.Samples
		}
	}
	for i := range t.Rows {
		t.Rows[i].sum(base)
	}
}

func (r *Row) sum(base []*Sample) {
	var rate, p50, p99, cpu, resident, rates, cpus []float64
	for i, s := range r.Samples {
		if s == nil {
			continue
		}
		rate, p50, p99 = append(rate, s.Rate), append(p50, s.P50), append(p99, s.P99)
		if s.Resident > 0 {
			cpu, resident = append(cpu, s.CPU), append(resident, s.Resident)
		}
		if i >= len(base) || base[i] == nil {
			continue
		}
		rates = append(rates, base[i].Rate/s.Rate)
		if s.Resident > 0 && base[i].CPU > 0 {
			cpus = append(cpus, s.CPU/base[i].CPU)
		}
	}
	r.Rate, r.P50, r.P99, r.CPU, r.Resident = Of(rate), Of(p50), Of(p99), Of(cpu), Of(resident)
	r.RateRatio, r.CPURatio = Of(rates), Of(cpus)
}
