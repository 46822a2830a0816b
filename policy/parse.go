package policy

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Parse reads a robots.txt. It never fails: what can be read of any bytes is
// used and the rest ignored, line by line (RFC 9309 2.3.1.5); a body that is
// something else altogether, such as HTML, has no rules (see [Robots.Foreign]).
// It takes time in proportion to body, which it does not keep and does not
// change. Of more than 256 MiB the full lines that fit are read.
func Parse(body []byte) *Robots {
	r := &Robots{parsed: true}
	r.own.init(heed, newSource(body))
	if r.foreign = r.own.foreign(); r.foreign != proper {
		r.own = reading{}
		r.own.init(heed, newSource(nil))
	}
	return r
}

// Robots is a parsed robots.txt. Make one with [Parse]: a nil or zero Robots
// disallows everything. What it says never changes, so it may be shared between
// goroutines; the rules of a group are made ready when they are first asked for.
// It must not be copied.
type Robots struct {
	parsed  bool
	foreign kind                      // what the body is
	own     reading                   // the text, and where its blocks are
	google  atomic.Pointer[reading]   // the same as Google reads it: most files never are
	choices atomic.Pointer[[]*choice] // what has been made ready; never changed in place
	mu      sync.Mutex                // for who sets google or choices
}

// reading returns the text as d reads it.
func (r *Robots) reading(d *dialect) *reading {
	if d == heed {
		return &r.own
	}
	if known := r.google.Load(); known != nil {
		return known
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.google.Load(); known != nil {
		return known // somebody was faster
	}
	read := new(reading)
	read.init(d, r.own.source)
	if slices.Equal(read.blocks, r.own.blocks) {
		read.blocks = r.own.blocks // as in most files: one copy will do
	}
	r.google.Store(read)
	return read
}
