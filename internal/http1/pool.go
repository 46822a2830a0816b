package http1

import (
	"container/list"
	"sync"
	"time"
)

// key names an origin.
type key struct{ scheme, host string }

// pool keeps idle connections, the last used of an origin first. Its zero value
// keeps none.
type pool struct {
	max, maxPerHost int
	timeout         time.Duration // 0: none

	mu     sync.Mutex
	byHost map[key][]*conn
	all    list.List   // of *conn, the longest idle at the back
	timer  *time.Timer // of the next sweep; nil: nothing to sweep
}

// take returns a connection to the origin on which nothing has come since it was
// put, or nil. What is sent once only takes none of which that cannot be known: it
// may have been closed long ago.
func (p *pool) take(k key, once bool) *conn {
	for {
		c := p.pop(k, once)
		if c == nil || c.justOpened() || c.quiet() {
			return c
		}
		_ = c.Close()
	}
}

func (p *pool) pop(k key, once bool) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	conns := p.byHost[k]
	if len(conns) == 0 {
		return nil
	}
	c := conns[len(conns)-1]
	if once && c.peek == nil && !c.justOpened() {
		return nil
	}
	p.removeLocked(c, len(conns)-1)
	return c
}

func (p *pool) has(k key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.byHost[k]) > 0
}

// removeLocked takes out c, which is the one at i of its host.
func (p *pool) removeLocked(c *conn, i int) {
	conns := p.byHost[c.key]
	copy(conns[i:], conns[i+1:])
	conns[len(conns)-1] = nil
	if conns = conns[:len(conns)-1]; len(conns) == 0 {
		delete(p.byHost, c.key)
	} else {
		p.byHost[c.key] = conns
	}
	p.all.Remove(c.place)
	c.place = nil
}

// put keeps c, or closes it where there are enough; when there are too many in all
// the one that was idle for longest makes room.
func (p *pool) put(c *conn) {
	if old, kept := p.add(c); !kept {
		_ = c.Close()
	} else if old != nil {
		_ = old.Close()
	}
}

func (p *pool) add(c *conn) (old *conn, kept bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.max <= 0 || len(p.byHost[c.key]) >= p.maxPerHost {
		return nil, false
	}
	if p.all.Len() >= p.max {
		old = p.all.Back().Value.(*conn)
		p.dropLocked(old)
	}
	if p.byHost == nil {
		p.byHost = map[key][]*conn{}
	}
	p.byHost[c.key] = append(p.byHost[c.key], c)
	c.since, c.place = time.Now(), p.all.PushFront(c)
	if p.timer == nil {
		p.timer = time.AfterFunc(sweepEvery, p.sweep)
	}
	return old, true
}

func (p *pool) dropLocked(c *conn) {
	for i, other := range p.byHost[c.key] {
		if other == c {
			p.removeLocked(c, i)
			return
		}
	}
}

// sweepEvery is how long a connection that its origin has closed may go on taking
// a descriptor.
const sweepEvery = 2 * time.Second

// sweep closes the connections that have been idle for too long, and those on
// which something came.
func (p *pool) sweep() {
	for _, c := range p.outdated() {
		_ = c.Close()
	}
}

func (p *pool) outdated() []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	var old []*conn
	for e := p.all.Back(); e != nil; {
		c := e.Value.(*conn)
		e = e.Prev()
		if p.timeout > 0 && time.Since(c.since) > p.timeout || !c.justOpened() && !c.quiet() {
			p.dropLocked(c)
			old = append(old, c)
		}
	}
	if p.timer = nil; p.all.Len() > 0 {
		p.timer = time.AfterFunc(sweepEvery, p.sweep)
	}
	return old
}

func (p *pool) closeAll() {
	p.mu.Lock()
	conns := make([]*conn, 0, p.all.Len())
	for e := p.all.Front(); e != nil; e = e.Next() {
		conns = append(conns, e.Value.(*conn))
	}
	p.byHost = nil
	p.all.Init()
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
}
