package fetch

import (
	"time"

	"heed/policy"
)

// refreshes are the origins whose copy is near its end and in use. A few workers
// see to them one after the other, so that ten thousand that end together do not
// become ten thousand requests at once.
type refreshes struct {
	queue   []policy.Origin // guarded by Store.mu, as the rest
	pending map[policy.Origin]bool
	workers int
}

// refreshPause is the least time between two refreshes of one origin that came
// to nothing, such as because another process of the fleet is at it.
const refreshPause = time.Second

// refreshLater has o refreshed, unless that was asked for a moment ago.
func (s *Store) refreshLater(o policy.Origin, at *slot, now time.Time) {
	last := at.queued.Load()
	if n := now.UnixNano(); n-last < int64(refreshPause) || !at.queued.CompareAndSwap(last, n) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.later.pending[o] {
		return
	}
	s.later.pending[o] = true
	s.later.queue = append(s.later.queue, o)
	if s.later.workers < max(s.options.MaxFetches/8, 1) {
		s.later.workers++
		s.running.Go(s.refresh)
	}
}

// refresh sees to what is queued, until there is nothing left.
func (s *Store) refresh() {
	for {
		fly, ok := s.nextRefresh()
		if !ok {
			return
		}
		if fly != nil {
			fly()
		}
	}
}

// nextRefresh takes the first origin from the queue. fly is nil when its file is
// being retrieved already.
func (s *Store) nextRefresh() (fly func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.later
	if s.closed || len(l.queue) == 0 {
		l.workers--
		return nil, false
	}
	o := l.queue[0]
	l.queue = l.queue[1:]
	delete(l.pending, o)
	if s.flights[o] != nil {
		return nil, true
	}
	_, fly = s.prepareLocked(o, how{background: true})
	return fly, true
}
