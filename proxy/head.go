package proxy

import (
	"bytes"
	"strings"
	"sync"
	"time"
)

// requestHead remembers the octets of a connection that were read and not yet
// served, so that a request which net/http does not accept can be named. What
// belongs to a body is passed over. net/http reads ahead, on a goroutine of its
// own even while a handler runs, so the next request may be known before this one
// has been answered.
type requestHead struct {
	mu     sync.Mutex
	octets []byte    // from the first octet of the next request on
	since  time.Time // when the first of them came
	body   int64     // octets of the body under way that are still to come
	lost   bool      // it is not known where the next request begins
	unsure bool      // octets may begin in the middle of a request
}

// headKept bounds what is remembered of a request that may turn out malformed:
// enough to name its target.
const headKept = 8 << 10

// read notes octets that net/http has been given.
func (h *requestHead) read(b []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	passed := min(h.body, int64(len(b)))
	h.body -= passed
	b = b[passed:]
	if len(b) == 0 || h.lost {
		return
	}
	if len(h.octets) == 0 {
		h.since = time.Now()
	}
	h.octets = append(h.octets, b[:min(len(b), headKept-len(h.octets))]...)
}

// served notes that the first request has come to a handler. length is its
// Content-Length, -1 when that is not known. It reports whether there was a field
// of that name, which net/http removes from beside chunks; where the octets do not
// tell, there was.
func (h *requestHead) served(length int64) (hasLength bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	end := headEnd(h.octets)
	hasLength = end < 0 || hasField(h.octets[:end], "Content-Length")
	if end < 0 || length < 0 || len(h.octets) == headKept {
		h.lost, h.octets = true, h.octets[:0]
		return hasLength
	}
	rest := h.octets[end:]
	passed := min(length, int64(len(rest)))
	h.body = length - passed
	h.octets = append(h.octets[:0], rest[passed:]...)
	h.unsure = false
	return hasLength
}

// idle notes that the request has been answered and its body has been read.
func (h *requestHead) idle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unsure = h.unsure || h.lost || h.body > 0
	h.lost, h.body = false, 0
	h.since = time.Now()
}

// pending returns what has come of the request that is being read, nil when that
// is not known, and when it began.
func (h *requestHead) pending() ([]byte, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unsure || len(h.octets) == 0 {
		return nil, time.Now()
	}
	return h.octets, h.since
}

// headEnd returns the length of the header section with which b begins, -1 when
// b does not hold all of it.
func headEnd(b []byte) int {
	// net/http overlooks empty lines before a request.
	start := len(b) - len(bytes.TrimLeft(b, "\r\n"))
	for i := start; i < len(b); i++ {
		if b[i] != '\n' {
			continue
		}
		switch rest := b[i+1:]; {
		case bytes.HasPrefix(rest, []byte("\n")):
			return i + 2
		case bytes.HasPrefix(rest, []byte("\r\n")):
			return i + 3
		}
	}
	return -1
}

// hasField reports whether a line of the header section begins with the field name.
func hasField(head []byte, name string) bool {
	for line := range bytes.Lines(head) {
		field, _, ok := bytes.Cut(line, []byte(":"))
		if ok && strings.EqualFold(string(field), name) {
			return true
		}
	}
	return false
}
