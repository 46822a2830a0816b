package policy

import (
	"strings"
	"sync"
	"unsafe"
)

// An octetClass says what an octet may do to a target. Most do nothing.
type octetClass uint8

const (
	dot       octetClass = 1 << iota // it may be of a dot segment
	rewritten                        // it is compared as something else
)

// canonical reports whether a target's path and query are compared as they are,
// and once.
func (c *comparison) canonical(path string) bool {
	if c.sent {
		return !dotted(path)
	}
	class, i := &c.class, 0
	for ; i+8 <= len(path); i += 8 {
		p := path[i : i+8]
		of := class[p[0]] | class[p[1]] | class[p[2]] | class[p[3]] | class[p[4]] | class[p[5]] | class[p[6]] | class[p[7]]
		if of != 0 && (of >= rewritten || dotSegmentIn(path, i, i+8)) {
			return false
		}
	}
	for ; i < len(path); i++ {
		if of := class[path[i]]; of != 0 && (of >= rewritten || dotSegmentIn(path, i, i+1)) {
			return false
		}
	}
	return true
}

// dotSegmentIn reports whether a segment that begins with a dot begins in
// path[from:to].
func dotSegmentIn(path string, from, to int) bool {
	for i := max(from, 1); i < to; i++ {
		if path[i] == '.' && path[i-1] == '/' {
			return true
		}
	}
	return false
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
