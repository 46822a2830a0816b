package htpasswd

import (
	"net/netip"
	"runtime"
	"sync"
	"time"
)

const (
	freeTries  = 5           // wrong passwords in a row before anything is held back
	firstHold  = time.Second // doubled by each further failure
	longHold   = time.Minute
	forgetHold = 10 * time.Minute // after the last failure
	maxGuesses = 10_000           // remembered; the bound of what guessers can make heed hold
	maxWaiting = 128              // checks of one address
)

// guess is a name tried from an address. Names are held back by address, so that
// nobody can lock another out; addresses by name, so that who shares one with a
// guesser is not held back.
type guess struct {
	from netip.Addr
	name string
}

// brake slows guessing down. The zero value is ready.
type brake struct {
	mu     sync.Mutex
	fails  map[guess]*fails
	queues map[netip.Addr]*queue
	slots  chan struct{} // checks of all addresses
}

type fails struct {
	count int
	until time.Time // held back until
	last  time.Time
}

// queue lets the checks of one address take turns.
type queue struct {
	turn    chan struct{}
	waiting int
}

// held returns until when a guess is refused unseen; zero when it is not.
func (b *brake) held(g guess) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f := b.fails[g]; f != nil && time.Now().Before(f.until) {
		return f.until
	}
	return time.Time{}
}

func (b *brake) failed(g guess) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	f := b.fails[g]
	if f == nil || now.Sub(f.last) > forgetHold {
		b.makeRoomLocked(now)
		f = &fails{}
		b.fails[g] = f
	}
	f.count++
	f.last = now
	if over := f.count - freeTries; over >= 0 {
		f.until = now.Add(min(longHold, firstHold<<min(over, 10)))
	}
}

// makeRoomLocked keeps the table small: what is old goes first, and when all of
// it is new, some of it.
func (b *brake) makeRoomLocked(now time.Time) {
	if b.fails == nil {
		b.fails = map[guess]*fails{}
	}
	if len(b.fails) < maxGuesses {
		return
	}
	for g, f := range b.fails {
		if now.Sub(f.last) > forgetHold {
			delete(b.fails, g)
		}
	}
	for g := range b.fails {
		if len(b.fails) < maxGuesses*9/10 {
			return
		}
		delete(b.fails, g)
	}
}

func (b *brake) succeeded(g guess) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.fails, g)
}

// turn waits until a check for the address may run, and returns what is to be
// called when it has. It reports false when too many wait already.
func (b *brake) turn(from netip.Addr) (done func(), ok bool) {
	b.mu.Lock()
	if b.queues == nil {
		b.queues = map[netip.Addr]*queue{}
		// Half of the processors: requests are to be served meanwhile.
		b.slots = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))
	}
	q := b.queues[from]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		b.queues[from] = q
	}
	if q.waiting >= maxWaiting {
		b.mu.Unlock()
		return nil, false
	}
	q.waiting++
	b.mu.Unlock()
	q.turn <- struct{}{}
	b.slots <- struct{}{}
	return func() {
		<-b.slots
		<-q.turn
		b.mu.Lock()
		defer b.mu.Unlock()
		if q.waiting--; q.waiting == 0 {
			delete(b.queues, from)
		}
	}, true
}
