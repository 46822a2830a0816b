package main

import (
	"context"
	"time"

	"heed/bench/load"
	"heed/bench/peer"
	"heed/bench/report"
)

// memoryRounds is how often memory is looked at: it varies little.
const memoryRounds = 3

// measureMemory looks at what each holds resident, each time in a new process.
func (b *bench) measureMemory(ctx context.Context) error {
	for _, p := range b.peers {
		if p.Name == peer.Direct().Name {
			continue
		}
		m := report.Memory{Peer: p.Name, Connections: b.connections}
		var idle, plain, intercepted []float64
		for range min(memoryRounds, b.rounds) {
			for _, via := range []load.Via{load.Plain, load.Intercept} {
				w := held(via, b.connections)
				if !p.Does(w) {
					continue
				}
				before, after, err := b.hold(ctx, w, p)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				idle = append(idle, before...)
				if err != nil {
					m.Errors = append(m.Errors, err.Error())
					b.say("memory: %s failed: %v", p.Name, err)
					continue
				}
				if via == load.Plain {
					plain = append(plain, after)
				} else {
					intercepted = append(intercepted, after)
				}
				b.say("memory: %s %.1f MB idle, %.1f MB with %d connections, %s", p.Name, before[0], after, b.connections, via)
			}
		}
		m.Idle, m.Plain, m.Intercepted = report.Of(idle), report.Of(plain), report.Of(intercepted)
		b.report.Memory = append(b.report.Memory, m)
	}
	return nil
}

// hold measures a new process before and while the connections are open, in MB.
// before has one value unless the process did not start.
func (b *bench) hold(ctx context.Context, w load.Work, p peer.Peer) (before []float64, after float64, err error) {
	running, err := p.Start(ctx, b.dir, w.Via, b.origin)
	if err != nil {
		return nil, 0, err
	}
	defer running.Stop()
	resident := func() (float64, error) {
		b.settle(ctx)
		u, err := running.Usage()
		return float64(u.Resident) / 1e6, err
	}
	idle, err := resident()
	if err != nil {
		return nil, 0, err
	}
	release, err := load.Hold(ctx, w, b.target(running))
	defer release()
	if err != nil {
		return []float64{idle}, 0, err
	}
	after, err = resident()
	return []float64{idle}, after, err
}

// settle lets what was just done come to an end.
func (b *bench) settle(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(b.pause):
	}
}
