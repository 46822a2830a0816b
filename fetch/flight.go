package fetch

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"heed/policy"
)

// A flight is one retrieval that any number of callers wait for. It ends on its
// own deadlines, whoever leaves.
type flight struct {
	cancel  context.CancelFunc
	done    chan struct{}
	waiting int // callers; guarded by Store.mu

	landing landing // written before done is closed
}

// A landing is what came of a flight.
type landing struct {
	settled bool // false: a refresh that had nothing to do, and answers nobody
	access  policy.Access
	lookup  Lookup
	finish  func() // what is left to do when the callers have gone; may be nil
}

// how says what a flight is for.
type how struct {
	background bool // a refresh: nobody waits for it
	force      bool // the origin is to be asked whatever is known
}

// await waits for what a flight brings. One that was started in the background
// may bring nothing; then it is followed by another.
func (s *Store) await(ctx context.Context, o policy.Origin, h how) (policy.Access, error) {
	for {
		f, err := s.board(o, h)
		if err != nil {
			return policy.Access{}, err
		}
		if f == nil {
			return busy(o, "too many requests wait for this robots.txt"), nil
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			s.mu.Lock()
			f.waiting--
			s.mu.Unlock()
			return policy.Access{}, ctx.Err()
		}
		if f.landing.settled {
			s.options.OnLookup(f.landing.lookup)
			return f.landing.access, nil
		}
	}
}

// busy is the result for a request that heed itself has no room for. It is not
// remembered.
func busy(o policy.Origin, cause string) policy.Access {
	return policy.Access{URL: o.RobotsURL(), Cause: cause, Retry: time.Now().Add(time.Second)}
}

// board returns the flight to o's robots.txt and starts it when there is none;
// nil when too many wait for it.
func (s *Store) board(o policy.Origin, h how) (*flight, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flights[o]
	if f == nil {
		if s.closed {
			return nil, ErrClosed
		}
		var fly func()
		f, fly = s.prepareLocked(o, h)
		s.running.Go(fly)
	}
	if f.waiting >= s.options.MaxWaiting {
		return nil, nil
	}
	f.waiting++
	return f, nil
}

// prepareLocked registers a flight that the caller has to fly.
func (s *Store) prepareLocked(o policy.Origin, h how) (*flight, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &flight{cancel: cancel, done: make(chan struct{})}
	s.flights[o] = f
	return f, func() { s.fly(ctx, o, f, h) }
}

func (s *Store) fly(ctx context.Context, o policy.Origin, f *flight, h how) {
	defer f.cancel()
	l := s.learn(ctx, o, h)
	f.landing = l
	s.mu.Lock()
	delete(s.flights, o)
	s.mu.Unlock()
	close(f.done)
	if l.finish != nil {
		l.finish()
	}
}

// learn finds out about o's robots.txt: from memory, where another flight may
// have landed since the caller looked; from the backend; from the origin. A
// panic of what it calls is an unreachable result, because nobody above it could
// turn it into a refusal.
func (s *Store) learn(ctx context.Context, o policy.Origin, h how) (l landing) {
	key := keyOf(o)
	var claim claim
	defer func() {
		if p := recover(); p != nil {
			s.options.Log.Error("robots.txt fetch panicked", "origin", key, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			k := s.failed(s.memory.known(key), policy.Access{URL: o.RobotsURL(), Cause: "internal fault"}, 0)
			l = s.land(key, k)
			l.finish = claim.end
		}
	}()
	if !h.background || s.compared(key) {
		if l, ok := s.recall(key, h, Hit); ok {
			return l
		}
	}
	found, leave := s.consult(ctx, o, &claim, h)
	if leave {
		return landing{}
	}
	lookup := Hit
	if found {
		lookup = Stored
	}
	if l, ok := s.recall(key, h, lookup); ok {
		l.finish = claim.end
		return l
	}
	prev := s.memory.known(key)
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	wait, cancel := context.WithTimeout(ctx, s.options.Timeout)
	free, err := s.lanes.enter(wait, func() { giveUp(errGivenUp) })
	cancel()
	if err != nil {
		return landing{settled: true, access: busy(o, "too many robots.txt are being fetched"), finish: claim.end}
	}
	defer free()
	k := s.retrieve(ctx, o, prev)
	s.tell(o, k)
	l = s.land(key, k)
	l.finish = func() {
		s.save(key, k)
		claim.end()
	}
	return l
}

// compared reports whether memory has been compared with the backend since the
// last time that it may have missed a change.
func (s *Store) compared(key string) bool {
	at := s.memory.get(key)
	return at == nil || at.seen.Load() == s.epoch.Load()
}

// recall returns what memory knows, when that will do for h.
func (s *Store) recall(key string, h how, lookup Lookup) (landing, bool) {
	k := s.memory.known(key)
	if k == nil || h.force {
		return landing{}, false
	}
	now := time.Now()
	standing, due := k.at(now)
	if standing == unknown || h.background && due {
		return landing{}, false
	}
	if lookup == Hit {
		lookup = lookupOf(standing)
	}
	l := landing{settled: true, lookup: lookup}
	s.result(&l.access, k, standing, now)
	return l, true
}

// tell hands out the file of k, unless there is none or no answer has named it.
func (s *Store) tell(o policy.Origin, k *known) {
	if k.file != nil && k.trouble == nil {
		s.options.OnFile(o, k.access, k.file.body)
	}
}

// land makes k, which was found out just now, what is known.
func (s *Store) land(key string, k *known) landing {
	s.memory.put(key, k, s.epoch.Load())
	now := time.Now()
	standing := fresh // for those who waited, however short its freshness
	if k.trouble != nil {
		if standing, _ = k.at(now); standing == unknown {
			standing = failed
		}
	}
	l := landing{settled: true, lookup: Miss}
	s.result(&l.access, k, standing, now)
	return l
}

// retrieve asks o and returns what is known then.
func (s *Store) retrieve(ctx context.Context, o policy.Origin, prev *known) *known {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	start := time.Now()
	out := s.ask(ctx, o, prev)
	k := s.settle(prev, out)
	attrs := []slog.Attr{
		slog.String("origin", o.String()), slog.String("access", out.access.Result.String()),
		slog.Int("status", out.access.Status), slog.String("cause", out.access.Cause), slog.Duration("took", time.Since(start)),
	}
	now := time.Now()
	standing, _ := k.at(now)
	if k.trouble == nil {
		attrs = append(attrs, slog.Duration("fresh_for", k.fresh.Sub(now).Round(time.Second)), slog.Bool("not_modified", out.notModified))
	} else {
		attrs = append(attrs, slog.Duration("retry_in", k.trouble.access.Retry.Sub(now).Round(time.Second)),
			slog.Int("failures", k.trouble.failures), slog.Bool("stale", standing == stale))
	}
	if out.access.MediaType != "" {
		attrs = append(attrs, slog.String("type", out.access.MediaType))
	}
	if out.file != nil && out.file.foreign != "" {
		attrs = append(attrs, slog.String("not_robots", out.file.foreign))
	}
	s.options.Log.LogAttrs(ctx, slog.LevelInfo, "robots.txt fetched", attrs...)
	s.options.OnFetch(out.access.Result)
	return k
}
