package policy

import (
	"strings"
	"sync"
	"sync/atomic"
)

// maxText is what is read of a body, so that offsets fit. It is a thousand times
// what RFC 9309 2.5 asks for.
const maxText = 1 << 29

// Parse reads a robots.txt. It never fails: what can be read of any bytes is
// used and the rest ignored, line by line (RFC 9309 2.3.1.5). It takes time in
// proportion to body, which it does not keep and does not change. Of more than
// 512 MiB the full lines that fit are read.
func Parse(body []byte) *Robots {
	r := &Robots{parsed: true, text: decodeText(body)}
	if len(r.text) > maxText {
		r.text = r.text[:1+strings.LastIndexAny(r.text[:maxText], "\r\n")]
	}
	r.own.init(heed, r.text)
	return r
}

// Robots is a parsed robots.txt. Make one with [Parse]: a nil or zero Robots
// disallows everything. What it says never changes, so it may be shared between
// goroutines; the rules of a group are made ready when they are first asked for.
// It must not be copied.
type Robots struct {
	parsed bool
	text   string // all that the rest points into
	own    reading

	once   sync.Once
	google reading // under once: most files are never read so

	mu      sync.Mutex                // for who replaces choices
	choices atomic.Pointer[[]*choice] // what has been made ready; never changed in place
}

// reading returns the text as d reads it.
func (r *Robots) reading(d *dialect) *reading {
	if d == heed {
		return &r.own
	}
	r.once.Do(func() { r.google.init(d, r.text) })
	return &r.google
}
