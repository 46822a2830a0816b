package load

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// large is the size from which content is counted as it comes, not once it is
// whole: only a few fit into a window.
const large = 1 << 20

// The phases of a measurement.
const (
	warming int32 = iota
	measuring
	over
)

// patience is for what hangs.
const patience = 30 * time.Second

// most is how many failures end a measurement early.
const most = 500

// session is a measurement.
type session struct {
	ctx   context.Context
	w     Work
	t     Target
	phase atomic.Int32

	octets   atomic.Int64  // of content, while measuring
	answers  atomic.Int64  // while measuring
	ready    chan struct{} // has a token for each worker that got its first answer
	failures atomic.Int64  // in any phase
	failing  chan struct{}
	once     sync.Once
	deadline time.Time // of all connections, so that nothing hangs for ever

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil once closed
	first error
}

func newSession(ctx context.Context, w Work, t Target, life time.Duration) *session {
	return &session{
		ctx: ctx, w: w, t: t, deadline: time.Now().Add(life + patience),
		failing: make(chan struct{}), ready: make(chan struct{}, w.Connections), conns: map[net.Conn]struct{}{},
	}
}

// worker is one connection's goroutine and what it measured.
type worker struct {
	s         *session
	answered  bool // has had an answer
	latencies []time.Duration
}

// Measure does the work for a while to warm up, once every connection has had an
// answer, and then for the window, which goes on until there is something to
// measure. edge is called when the window begins and when it ends. The error is
// that the work cannot be done, or that ctx has ended; single failures are in the
// Result.
func Measure(ctx context.Context, w Work, t Target, warm, span time.Duration, edge func()) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := newSession(ctx, w, t, warm+span)
	workers := make([]*worker, w.Connections)
	var running sync.WaitGroup
	for i := range workers {
		workers[i] = &worker{s: s}
		running.Go(workers[i].run)
	}
	result := Result{}
	s.awaitAll()
	s.wait(warm)
	edge()
	start := time.Now()
	s.phase.Store(measuring)
	s.wait(span)
	s.awaitOne()
	s.phase.Store(over)
	result.Window = time.Since(start)
	edge()
	cancel()
	s.closeAll()
	running.Wait()
	return s.result(result, workers)
}

// wait waits for d, or until there is no more sense in it.
func (s *session) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.ctx.Done():
	case <-s.failing:
	case <-timer.C:
	}
}

// awaitAll waits until every worker has had an answer. Handshakes may take longer
// than a short window, but not for ever.
func (s *session) awaitAll() {
	timer := time.NewTimer(patience / 2)
	defer timer.Stop()
	for range s.w.Connections {
		select {
		case <-s.ready:
		case <-s.ctx.Done():
			return
		case <-s.failing:
			return
		case <-timer.C:
			return
		}
	}
}

// awaitOne waits until something has come in the window.
func (s *session) awaitOne() {
	end := time.Now().Add(patience / 3)
	for s.answers.Load() == 0 && s.octets.Load() == 0 && s.failures.Load() <= most && s.ctx.Err() == nil && time.Now().Before(end) {
		s.wait(10 * time.Millisecond)
	}
}

func (s *session) result(r Result, workers []*worker) (Result, error) {
	var all []time.Duration
	for _, k := range workers {
		all = append(all, k.latencies...)
	}
	r.Requests, r.Failed, r.First = float64(len(all)), int(s.failures.Load()), s.first
	if s.w.Size >= large {
		r.Requests = float64(s.octets.Load()) / float64(s.w.Size)
	}
	if r.Requests == 0 && s.first == nil {
		return r, fmt.Errorf("no answers within %s", r.Window.Round(time.Millisecond))
	}
	if r.Failed > most || r.Requests == 0 || float64(r.Failed) > r.Requests/100 {
		return r, fmt.Errorf("%.0f answers, %d failures: %w", r.Requests, r.Failed, s.first)
	}
	slices.Sort(all)
	r.P50, r.P99 = percentile(all, 50), percentile(all, 99)
	return r, nil
}

// percentile is the smallest of the sorted that p in a hundred do not exceed;
// 0 of none.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*p+99)/100-1]
}

func (k *worker) run() {
	if k.s.w.Streams > 0 {
		k.run2()
		return
	}
	var c *client1
	for k.s.phase.Load() != over {
		// Where connections end after each answer, opening the next is part of it.
		start := time.Now()
		var err error
		if c == nil {
			c, err = k.s.newClient1(k.s.host())
		}
		again, used := false, c != nil && c.used
		if err == nil {
			if again, err = c.exchange(); err == nil {
				k.done(start)
			}
		}
		if c != nil && (!again || err != nil || k.s.w.New) {
			silent := c.silent
			c.close()
			c = nil
			// A connection may end between two requests; a client asks again on
			// another (RFC 9112 9.3.1).
			if used && silent {
				continue
			}
		}
		if err != nil && !k.failed(err) {
			return
		}
	}
}

// host is whom the next connection is for.
func (s *session) host() string {
	switch {
	case s.w.Hosts:
		return s.t.Host()
	case s.w.Via == Plain:
		return s.t.Plain
	}
	return s.t.Secure
}

// done notes a whole answer.
func (k *worker) done(start time.Time) {
	if !k.answered {
		k.answered = true
		k.s.ready <- struct{}{}
	}
	if k.s.phase.Load() == measuring {
		k.latencies = append(k.latencies, time.Since(start))
		k.s.answers.Add(1)
	}
}

// progress notes content that came.
func (s *session) progress(n int64) {
	if s.w.Size >= large && s.phase.Load() == measuring {
		s.octets.Add(n)
	}
}

// failed notes an error and reports whether to go on. What breaks because the
// measurement is over is none.
func (k *worker) failed(err error) bool {
	s := k.s
	if s.phase.Load() == over || s.ctx.Err() != nil {
		return false
	}
	s.mu.Lock()
	if s.first == nil {
		s.first = err
	}
	s.mu.Unlock()
	if s.failures.Add(1) > most {
		s.once.Do(func() { close(s.failing) })
		return false
	}
	return true
}
