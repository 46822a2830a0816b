package fetch

import (
	"context"
	"sync"
	"time"
)

// lanes bound how many robots.txt are retrieved at one time without letting
// those that hang hold up those that don't. A retrieval begins in the quick lane
// and moves to the slow one when it takes its time; one of an origin that was
// unreachable before begins there, and so does a refresh, which nobody waits for.
type lanes struct{ quick, slow chan struct{} }

// slowAfter is how long a retrieval stays in the quick lane while there is room
// in the other.
const slowAfter = 200 * time.Millisecond

// newLanes parts n places, one in four of them quick.
func newLanes(n int) lanes {
	quick := max(n/4, 1)
	return lanes{quick: make(chan struct{}, quick), slow: make(chan struct{}, max(n-quick, 1))}
}

// enter waits for a place, no longer than ctx. leave gives it back.
func (l lanes) enter(ctx context.Context, slow bool) (leave func(), err error) {
	quick := l.quick
	if slow {
		quick = nil // never ready
	}
	lane := l.quick
	select {
	case quick <- struct{}{}:
	default:
		select {
		case quick <- struct{}{}:
		case l.slow <- struct{}{}:
			return func() { <-l.slow }, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var mu sync.Mutex
	var timer *time.Timer
	left := false
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(slowAfter, func() {
		mu.Lock()
		defer mu.Unlock()
		if left {
			return
		}
		select {
		case l.slow <- struct{}{}:
			<-l.quick
			lane = l.slow
		default: // no room there either
			timer.Reset(slowAfter)
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		left = true
		<-lane
	}, nil
}
