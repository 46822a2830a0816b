package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"heed/bench/load"
	"heed/bench/peer"
	"heed/bench/process"
	"heed/bench/report"
)

// table has everybody who can do the work do it, in as many rounds as there are.
// Every other round goes backwards, so that nobody always follows the same one.
func (b *bench) table(ctx context.Context, w load.Work) error {
	t := report.Table{Work: w.Name, About: w.About}
	running, err := b.start(ctx, w, &t)
	defer func() {
		var stopping sync.WaitGroup
		for _, p := range running {
			stopping.Go(p.Stop)
		}
		stopping.Wait()
	}()
	if err != nil {
		return err
	}
	for round := range b.rounds {
		order := make([]int, len(running))
		for i := range order {
			order[i] = i
		}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, i := range order {
			s, err := b.sample(ctx, w, running[i])
			if ctx.Err() != nil {
				return ctx.Err()
			}
			row := &t.Rows[i]
			row.Samples = append(row.Samples, s)
			if err != nil {
				row.Errors = append(row.Errors, err.Error())
				b.say("%s, round %d of %d: %s failed: %s", w.Name, round+1, b.rounds, row.Peer, strings.TrimSpace(err.Error()))
				continue
			}
			b.say("%s, round %d of %d: %s %.0f req/s, %.0f µs CPU", w.Name, round+1, b.rounds, row.Peer, s.Rate, s.CPU)
		}
	}
	t.Sum()
	b.report.Tables = append(b.report.Tables, t)
	return nil
}

// start starts all who can do the work at once, and gives each a row. One that
// does not come up has a row that says so. What is returned is to be stopped,
// whatever the error.
func (b *bench) start(ctx context.Context, w load.Work, t *report.Table) ([]*peer.Running, error) {
	var able []peer.Peer
	for _, p := range b.peers {
		if p.Does(w) {
			able = append(able, p)
		}
	}
	started, errs := make([]*peer.Running, len(able)), make([]error, len(able))
	var starting sync.WaitGroup
	for i, p := range able {
		starting.Go(func() { started[i], errs[i] = p.Start(ctx, b.dir, w.Via, b.origin) })
	}
	starting.Wait()
	var running []*peer.Running
	var failed []report.Row
	for i, p := range able {
		if errs[i] != nil {
			b.say("%s: %s does not start: %v", w.Name, p.Name, errs[i])
			failed = append(failed, report.Row{Peer: p.Name, Errors: []string{errs[i].Error()}})
			continue
		}
		running = append(running, started[i])
		t.Rows = append(t.Rows, report.Row{Peer: p.Name})
	}
	t.Rows = append(t.Rows, failed...)
	return running, ctx.Err()
}

// sample is one peer's round.
func (b *bench) sample(ctx context.Context, w load.Work, p *peer.Running) (*report.Sample, error) {
	var usages []process.Usage
	var errs []error
	var profiling sync.WaitGroup
	edge := func() {
		u, err := p.Usage()
		usages, errs = append(usages, u), append(errs, err)
		if len(usages) == 1 && b.profile != "" && strings.HasPrefix(p.Name, report.Base) {
			profiling.Go(func() { b.profiles(ctx, w, p) })
		}
	}
	r, err := load.Measure(ctx, w, b.target(p), b.span/3, b.span, edge)
	profiling.Wait()
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, fmt.Errorf("%w; it said: %s", err, p.Said())
	}
	s := &report.Sample{
		Requests: r.Requests, Failed: r.Failed, Rate: r.Requests / r.Window.Seconds(), P50: micros(r.P50), P99: micros(r.P99),
		CPU: micros(usages[1].CPU-usages[0].CPU) / r.Requests, Resident: float64(usages[1].Resident) / 1e6,
	}
	return s, nil
}

// profiles writes what heed does in the window; the last round's stays.
func (b *bench) profiles(ctx context.Context, w load.Work, p *peer.Running) {
	if err := os.MkdirAll(b.profile, 0o755); err != nil {
		b.say("profile: %v", err)
		return
	}
	var both sync.WaitGroup
	for kind, name := range map[string]string{"profile": "cpu", "allocs": "allocs"} {
		both.Go(func() {
			if err := p.Profile(ctx, kind, b.profilePath(w, p, name), b.span); err != nil {
				b.say("profile: %v", err)
			}
		})
	}
	both.Wait()
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
