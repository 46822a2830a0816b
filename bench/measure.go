package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"heed/bench/load"
	"heed/bench/origin"
	"heed/bench/peer"
	"heed/bench/process"
	"heed/bench/report"
)

// options are what to measure.
type options struct {
	only        []string // works and peers
	rounds      int
	span        time.Duration // of one measurement
	connections int           // that the work memory holds
	pause       time.Duration // before memory is looked at
	profile     string        // folder; "" is none
	progress    io.Writer
}

// bench is a run.
type bench struct {
	options
	dir    string
	origin *origin.Origin
	works  []load.Work
	memory bool
	peers  []peer.Peer
	report report.Report
}

// measure does it all. Whatever it started has ended when it returns.
func measure(ctx context.Context, o options) (r *report.Report, err error) {
	b := &bench{options: o}
	if b.dir, err = os.MkdirTemp("", "heed-bench-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(b.dir)
	if err := os.Chmod(b.dir, 0o755); err != nil { // peers that give up root look in
		return nil, err
	}
	if err := process.MoreFiles(); err != nil {
		return nil, err
	}
	b.report = report.Report{Started: time.Now(), Rounds: o.rounds, Seconds: o.span.Seconds(), Profile: o.profile != "", Machine: report.Here()}
	fmt.Fprintln(o.progress, "compiling, and starting the origin")
	all, missing, err := peer.Find(ctx, b.dir, o.profile != "")
	if err != nil {
		return nil, err
	}
	b.report.Missing = missing
	if err := b.choose(all); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, b.bound())
	defer cancel()
	if b.origin, err = origin.Start(ctx, b.dir); err != nil {
		return nil, fmt.Errorf("origin: %w", err)
	}
	defer b.origin.Stop()
	b.report.Peers["origin"] = b.origin.Version
	for _, w := range b.works {
		if err := b.table(ctx, w); err != nil {
			return nil, err
		}
	}
	if b.memory {
		if err := b.measureMemory(ctx); err != nil {
			return nil, err
		}
	}
	b.report.Took = time.Since(b.report.Started).Round(time.Second).String()
	return &b.report, nil
}

// bound is when the whole run is given up, generously.
func (b *bench) bound() time.Duration {
	each := 2*b.span + 5*time.Second
	return time.Duration((len(b.works)*b.rounds+10)*len(b.peers))*each + 5*time.Minute
}

// choose takes the works and the peers that were asked for.
func (b *bench) choose(all []peer.Peer) error {
	wanted := slices.Clone(b.only)
	take := func(name string) bool {
		n := len(wanted)
		wanted = slices.DeleteFunc(wanted, func(w string) bool { return w == name })
		return len(wanted) < n
	}
	for _, w := range works {
		if take(w.Name) {
			b.works = append(b.works, w)
		}
	}
	if b.memory = take(memory); !b.memory && len(b.works) == 0 {
		b.works, b.memory = works, true
	}
	for _, p := range all {
		if take(p.Name) {
			b.peers = append(b.peers, p)
		}
	}
	if len(b.peers) == 0 {
		b.peers = all
	}
	if len(wanted) > 0 {
		return fmt.Errorf("not known or not installed: %s; there are %s", strings.Join(wanted, ", "), strings.Join(names(all), ", "))
	}
	b.report.Peers = map[string]string{}
	for _, p := range b.peers {
		b.report.Peers[p.Name] = p.Version
	}
	return nil
}

// names are those for -only.
func names(all []peer.Peer) []string {
	var out []string
	for _, w := range works {
		out = append(out, w.Name)
	}
	out = append(out, memory)
	for _, p := range all {
		out = append(out, p.Name)
	}
	return out
}

// target is how to reach the origin through a peer.
func (b *bench) target(p *peer.Running) load.Target {
	return load.Target{Proxy: p.Address, Plain: b.origin.Plain, Secure: b.origin.Secure, Host: b.origin.Host, Issuer: origin.Issuer}
}

// say tells how far it is.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.progress, "%6s "+format+"\n", append([]any{time.Since(b.report.Started).Round(time.Second)}, args...)...)
}

// profilePath is where a profile goes.
func (b *bench) profilePath(w load.Work, p *peer.Running, which string) string {
	return filepath.Join(b.profile, w.Name+"-"+p.Name+"."+which+".pb.gz")
}
