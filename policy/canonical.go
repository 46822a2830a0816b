package policy

import (
	"strings"
	"sync"
	"unsafe"
)

// canonical reports whether a target's path and query are compared as they are,
// and once.
func (c *comparison) canonical(path string) bool {
	if c.sent {
		return !dotted(path)
	}
	plain := &c.plain
	for i := range len(path) {
		if now := path[i]; !plain[now] && (now != '.' || i > 0 && path[i-1] == '/') {
			return false
		}
	}
	return !c.fold || folding(path) == len(path)
}

// appendTarget appends the canonical form of a target's path and query to dst,
// which is empty. What lies behind seam is the query.
func (c *comparison) appendTarget(dst []byte, path string) (canonical []byte, seam int) {
	query := len(path)
	if i := strings.IndexByte(path, '?'); i >= 0 {
		query = i
	}
	if c.sent {
		return append(dst, path...), query
	}
	dst = c.appendForm(dst, c.path, path[:query], inTarget)
	seam = len(dst)
	return c.appendForm(dst, c.query, path[query:], inTarget), seam
}

// dotted reports whether a path may have dot segments. Only where targets are
// compared as sent can a dot still be escaped.
func dotted(path string) bool {
	return strings.Contains(path, "/.") || strings.Contains(path, "/%2")
}

const (
	smallTarget = 300      // octets of a target that is rewritten on the stack
	spareSpace  = 64 << 10 // octets of the largest space that is kept
)

// A buffer is where a longer target is rewritten without an allocation.
type buffer struct{ space []byte }

var spare = sync.Pool{New: func() any { return new(buffer) }}

// borrow returns an empty buffer with room for n octets.
func borrow(n int) *buffer {
	b := spare.Get().(*buffer)
	if cap(b.space) < n {
		b.space = make([]byte, 0, n)
	}
	return b
}

func (b *buffer) giveBack() {
	if cap(b.space) <= spareSpace {
		spare.Put(b)
	}
}

// text lends b as a string, for no longer than b stays as it is.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
