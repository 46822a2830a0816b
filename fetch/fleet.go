package fetch

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"heed/policy"
)

// Times of a fleet.
const (
	leaseTime   = 3 * time.Second // what a holder that dies can cost the others
	leaseRenew  = time.Second
	changesPoll = 250 * time.Millisecond // of a change, the others hear within twice that
	firstPoll   = 10 * time.Millisecond  // whether a holder is done, doubling
	lastPoll    = 100 * time.Millisecond
)

func newHolder() string { return rand.Text() }

// A claim is a lease that is renewed until it ends. The zero value is none.
type claim struct{ release func() }

func (c *claim) end() {
	if c.release != nil {
		c.release()
	}
}

// share gets leave from the fleet to fetch o's robots.txt, or what the process
// that has it found. Waiting for that is waiting for the origin; the backend
// itself is given no more than its time-out, and is done without when it fails.
// bounded is ctx with the rest of the first one's time. The results are those of
// consult.
func (s *Store) share(ctx, bounded context.Context, o policy.Origin, c *claim, h how) (found, leave bool) {
	giveUp := time.Now().Add(s.options.Timeout + leaseTime)
	leased, found, err := s.tryLease(bounded, o, c)
	for wait := firstPoll; err == nil && !leased; wait = min(2*wait, lastPoll) {
		if found {
			if _, ok := s.recall(keyOf(o), h, Stored); ok {
				return true, false
			}
		}
		if h.force || time.Now().After(giveUp) {
			return found, false
		}
		if h.background {
			return found, true
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return found, false
		}
		again, cancel := context.WithTimeout(ctx, s.options.StoreTimeout)
		leased, found, err = s.tryLease(again, o, c)
		cancel()
	}
	return found, false
}

// tryLease asks for the lease once, and then for what is stored: whoever had the
// lease before has saved by now what it found.
func (s *Store) tryLease(ctx context.Context, o policy.Origin, c *claim) (leased, found bool, err error) {
	key := keyOf(o)
	leased, err = ask(ctx, &s.guard, "lease", func(ctx context.Context) (bool, error) {
		return s.fleet.Lease(ctx, key, s.holder, leaseTime)
	})
	if err != nil {
		return false, false, err
	}
	if leased {
		c.release = s.hold(key)
	}
	had, err := s.adopt(ctx, o)
	return leased, had == agreed, err
}

// hold renews a lease until it is released.
func (s *Store) hold(key string) (release func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(leaseRenew)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			call, done := context.WithTimeout(ctx, s.options.StoreTimeout)
			_, _ = ask(call, &s.guard, "lease", func(ctx context.Context) (bool, error) {
				return s.fleet.Lease(ctx, key, s.holder, leaseTime)
			})
			done()
		}
	})
	return func() {
		cancel()
		renewing.Wait()
		call, done := context.WithTimeout(context.Background(), s.options.StoreTimeout)
		defer done()
		_ = s.guard.do(call, "release", func(ctx context.Context) error { return s.fleet.Release(ctx, key, s.holder) })
	}
}

// watch takes over what other processes of the fleet have found, for the origins
// in memory, until ctx ends. After a failure it cannot know what it missed: then
// each origin is compared with the backend when it is next used.
func (s *Store) watch(ctx context.Context) {
	tick := time.NewTicker(changesPoll)
	defer tick.Stop()
	cursor, missed := "", false
	for {
		changed, next, err := s.changes(ctx, cursor)
		switch {
		case err != nil:
			missed = true
		case missed && cursor != "":
			s.epoch.Add(1)
			fallthrough
		default:
			cursor, missed = next, false
			for _, origin := range changed {
				s.reload(ctx, origin)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Store) changes(ctx context.Context, cursor string) (changed []string, next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.StoreTimeout)
	defer cancel()
	type answer struct {
		changed []string
		next    string
	}
	a, err := ask(ctx, &s.guard, "changes", func(ctx context.Context) (a answer, err error) {
		a.changed, a.next, err = s.fleet.Changes(ctx, cursor)
		return a, err
	})
	return a.changed, a.next, err
}

// reload makes memory agree with the backend about an origin that it holds.
func (s *Store) reload(ctx context.Context, origin string) {
	if s.memory.get(origin) == nil {
		return
	}
	target, err := policy.ParseTarget(origin)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.StoreTimeout)
	defer cancel()
	had, err := s.adopt(ctx, target.Origin)
	// What must not be stored is never there.
	if k := s.memory.known(origin); err == nil && had == absent && k != nil && !k.noStore {
		s.memory.delete(origin)
	}
}
