package fetch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// guard stands before a backend that may fail or hang. A call takes no longer
// than its context; after one that failed, the backend is left alone for a
// while and then tried by one call alone, until it works again.
type guard struct {
	log    *slog.Logger
	errors atomic.Uint64

	mu      sync.Mutex
	down    bool
	retry   time.Time // when down: not before
	probing bool      // when down: a call is trying it

	running sync.WaitGroup // calls that may have been left behind
}

// storePause is how long a backend that failed is left alone.
const storePause = time.Second

// errStoreDown is what a call gets for a backend that is left alone. It is not
// counted: the failure that led to it was.
var errStoreDown = errors.New("the store failed a moment ago")

// ask calls f, which must not touch anything that is not its own: it may still
// run when ask has returned, and what it returns is then dropped.
func ask[T any](ctx context.Context, g *guard, what string, f func(context.Context) (T, error)) (T, error) {
	var zero T
	if !g.admit() {
		return zero, errStoreDown
	}
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	g.running.Go(func() {
		a := answer{err: errors.New("the store panicked")}
		defer func() {
			_ = recover() // a backend that panics has failed: a.err says so
			answered <- a
		}()
		a.value, a.err = f(ctx)
	})
	var a answer
	select {
	case a = <-answered:
	case <-ctx.Done():
		a.err = ctx.Err()
	}
	g.note(ctx, what, a.err)
	return a.value, a.err
}

// do is ask for a call that returns nothing.
func (g *guard) do(ctx context.Context, what string, f func(context.Context) error) error {
	_, err := ask(ctx, g, what, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

func (g *guard) admit() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.down {
		return true
	}
	if g.probing || time.Now().Before(g.retry) {
		return false
	}
	g.probing = true
	return true
}

func (g *guard) note(ctx context.Context, what string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.probing = false
	switch {
	case err == nil || errors.Is(err, ErrNotStored):
		if g.down {
			g.down = false
			g.log.Info("robots.txt store works again")
		}
	case errors.Is(ctx.Err(), context.Canceled):
		// Whoever asked has left; that says nothing about the backend.
	default:
		g.errors.Add(1)
		g.retry = time.Now().Add(storePause)
		if !g.down {
			g.down = true
			g.log.Warn("robots.txt store fails: going on without it", "call", what, "error", err)
		}
	}
}

func (g *guard) healthy() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.down
}
