package fetch

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// lanes bound how many robots.txt are retrieved at one time, without letting
// those that hang hold up those that don't. Every retrieval begins in the quick
// lane. One that takes its time gives its place up to the next and goes on in the
// slow lane, which is longer; when that is full too, the one that has been there
// the longest is given up to make room.
//
// A free place goes to who came last. So however many hang, one that is asked for
// now has a place within slowAfter, and waits as long again only for each time
// that later ones fill the quick lane. Nobody is given up who answers within
// (slowRatio-1)*slowAfter: it takes longer than that to fill the slow lane anew.
type lanes struct {
	quickRoom, slowRoom int

	mu      sync.Mutex
	quick   int       // places taken
	waiting list.List // of chan struct{}, closed when a place is handed over
	slow    list.List // of *place, the longest there in front
}

const (
	slowAfter = 200 * time.Millisecond // how long a retrieval may stay in the quick lane
	slowRatio = 15                     // places in the slow lane for one in the quick
)

// errGivenUp ends a retrieval whose place others need.
var errGivenUp = errors.New("given up after seconds without an answer: too many origins hang")

func newLanes(quick int) *lanes { return &lanes{quickRoom: quick, slowRoom: quick * slowRatio} }

// A place is where one retrieval goes on. Lanes.mu guards it.
type place struct {
	lanes    *lanes
	giveUp   func() // ends the retrieval, without waiting until it leaves
	timer    *time.Timer
	slow     *list.Element // nil in the quick lane
	next     *place        // moves over when this one, which was given up, has left
	gone, up bool          // left; given up
}

// enter waits for a place, no longer than ctx. leave gives it back, and must be
// called once.
func (l *lanes) enter(ctx context.Context, giveUp func()) (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.quick < l.quickRoom {
		l.quick++
	} else if err := l.waitLocked(ctx); err != nil {
		return nil, err
	}
	p := &place{lanes: l, giveUp: giveUp}
	p.timer = time.AfterFunc(slowAfter, p.late)
	return p.leave, nil
}

// waitLocked unlocks while it waits.
func (l *lanes) waitLocked(ctx context.Context) error {
	handed := make(chan struct{})
	me := l.waiting.PushBack(handed)
	l.mu.Unlock()
	defer l.mu.Lock()
	select {
	case <-handed:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-handed:
		l.freeLocked()
	default:
		l.waiting.Remove(me)
	}
	return ctx.Err()
}

// freeLocked hands a place in the quick lane over, or takes it back.
func (l *lanes) freeLocked() {
	last := l.waiting.Back()
	if last == nil {
		l.quick--
		return
	}
	close(l.waiting.Remove(last).(chan struct{}))
}

// late takes p to the slow lane, or sees to it that there will be room.
func (p *place) late() {
	l := p.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case p.gone:
	case l.slow.Len() < l.slowRoom:
		p.moveLocked()
	case l.waiting.Len() == 0 || !l.giveUpLocked(p):
		p.timer.Reset(slowAfter)
	}
}

// giveUpLocked gives up who has been in the slow lane the longest, for next.
func (l *lanes) giveUpLocked(next *place) bool {
	for e := l.slow.Front(); e != nil; e = e.Next() {
		if p := e.Value.(*place); !p.up {
			p.up, p.next = true, next
			p.giveUp()
			return true
		}
	}
	return false
}

func (p *place) moveLocked() {
	p.slow = p.lanes.slow.PushBack(p)
	p.lanes.freeLocked()
}

func (p *place) leave() {
	p.timer.Stop()
	l := p.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	p.gone = true
	if p.slow == nil {
		l.freeLocked()
		return
	}
	l.slow.Remove(p.slow)
	if p.next != nil && !p.next.gone {
		p.next.moveLocked()
	}
}
