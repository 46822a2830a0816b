package fetch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"heed/policy"
)

// ErrClosed is what Access returns when a robots.txt would have to be fetched
// after Close.
var ErrClosed = errors.New("the robots.txt store is closed")

// A Store knows the robots.txt of origins: it fetches each once, keeps the
// result for its time, and lets all who ask meanwhile wait for the same fetch.
// Make one with [New]. It is safe for concurrent use.
type Store struct {
	options Options // with defaults
	memory  *memory

	mu      sync.Mutex
	flights map[policy.Origin]*flight // fetches on their way
	closed  bool

	running sync.WaitGroup // one for each flight
}

// A flight is one fetch that any number of callers wait for. It ends on its
// own deadline, whoever leaves.
type flight struct {
	cancel context.CancelFunc
	done   chan struct{}
	access policy.Access // written before done is closed
}

// New makes a Store. Close it to end what it started.
func New(o Options) *Store {
	o = o.withDefaults()
	return &Store{
		options: o,
		memory:  newMemory(o.MaxOrigins),
		flights: make(map[policy.Origin]*flight),
	}
}

// Access returns what is known of o's robots.txt and fetches it first when
// nothing is. Whatever goes wrong with the origin is an unreachable result. The
// error is ctx's own, for a caller that does not wait any longer, or
// [ErrClosed]; the result beside it is the zero value, which disallows.
func (s *Store) Access(ctx context.Context, o policy.Origin) (policy.Access, error) {
	if err := ctx.Err(); err != nil {
		return policy.Access{}, err
	}
	a, hit := s.memory.get(o)
	s.options.OnLookup(hit)
	if hit {
		return a, nil
	}
	f, err := s.board(o)
	if err != nil {
		return policy.Access{}, err
	}
	select {
	case <-f.done:
		return f.access, nil
	case <-ctx.Done():
		return policy.Access{}, ctx.Err()
	}
}

// Len returns the number of origins in memory, those included whose time is
// over and that nobody has asked for since.
func (s *Store) Len() int { return s.memory.len() }

// Close cancels the fetches on their way, whose callers get an unreachable
// result, and waits until they have ended. It may be called more than once.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	for _, f := range s.flights {
		f.cancel()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// board returns the flight to o's robots.txt and starts it when there is none.
func (s *Store) board(o policy.Origin) (*flight, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.flights[o]; ok {
		return f, nil
	}
	if s.closed {
		return nil, ErrClosed
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.options.Timeout)
	f := &flight{cancel: cancel, done: make(chan struct{})}
	s.flights[o] = f
	s.running.Go(func() { s.fly(ctx, o, f) })
	return f, nil
}

func (s *Store) fly(ctx context.Context, o policy.Origin, f *flight) {
	defer f.cancel()
	defer func() {
		s.mu.Lock()
		delete(s.flights, o)
		s.mu.Unlock()
		close(f.done)
	}()
	// A flight may have landed between the caller's look into memory and the
	// start of this one.
	a, ok := s.memory.get(o)
	if !ok {
		a = s.retrieve(ctx, o)
		s.memory.put(o, a, s.ttl(a))
	}
	f.access = a
}

// retrieve fetches o's robots.txt. A panic of what it calls is an unreachable
// result, because nobody above it could turn it into a refusal.
func (s *Store) retrieve(ctx context.Context, o policy.Origin) (a policy.Access) {
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			s.options.Log.Error("robots.txt fetch panicked", "origin", o.String(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			a = policy.Access{URL: o.RobotsURL(), Cause: "internal fault", Retry: time.Now().Add(s.options.ErrorTTL)}
		}
	}()
	a = s.fetch(ctx, o)
	if a.Result == policy.Unreachable {
		a.Retry = time.Now().Add(s.options.ErrorTTL)
	}
	s.options.Log.LogAttrs(ctx, slog.LevelInfo, "robots.txt fetched",
		slog.String("origin", o.String()), slog.String("access", a.Result.String()),
		slog.Int("status", a.Status), slog.String("cause", a.Cause), slog.Duration("took", time.Since(start)))
	s.options.OnFetch(a.Result)
	return a
}

func (s *Store) ttl(a policy.Access) time.Duration {
	if a.Result == policy.Unreachable {
		return s.options.ErrorTTL
	}
	return s.options.TTL
}
