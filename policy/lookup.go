package policy

import (
	"math/bits"
	"sort"
	"strings"
)

// decide returns the rule that decides on a target's path and query, without
// entry where none matches. Where the path has dot segments, the origin may
// serve either spelling of it, and both have to be allowed.
func (x *index) decide(path string) match {
	switch {
	case x.canonical(path):
		return x.lookup(path)
	case len(path) <= smallTarget:
		var space [3 * smallTarget]byte
		return x.decideRewritten(path, space[:0])
	}
	b := borrow(3 * len(path))
	defer b.giveBack()
	return x.decideRewritten(path, b.space)
}

func (x *index) decideRewritten(path string, space []byte) match {
	sent, seam := x.appendTarget(space, path)
	deciding := x.lookup(text(sent))
	if deciding.disallows() || !dotted(text(sent[:seam])) {
		return deciding
	}
	// In place: what is written is never longer than what has been read.
	resolved := append(removeDots(sent[:0], text(sent[:seam])), sent[seam:]...)
	if other := x.lookup(text(resolved)); other.disallows() {
		return other
	}
	return deciding
}

// lookup returns the rule of most precedence that matches s, a target in
// canonical form.
func (x *index) lookup(s string) (best match) {
	if x.spelt {
		best = x.lookupSpelt(s)
	} else if len(x.prefixes) > 0 {
		best = x.lookupPrefix(s, nil)
	}
	if len(x.wild) > 0 {
		best = x.lookupWild(s, best)
	}
	return best
}

func (x *index) lookupSpelt(s string) match {
	b := borrow(3 * x.reach(s))
	defer b.giveBack()
	return x.lookupPrefix(s, b.space)
}

// lookupPrefix asks the prefixes. Those that are spelt are made up in space.
func (x *index) lookupPrefix(s string, space []byte) (best match) {
	for i := x.last(s, space); i != none; {
		e := &x.prefixes[i]
		size := x.extent(e, s, space)
		// The chain grows shorter; star and anchor add two octets at most.
		if best.entry != nil && size*int(x.stretch)+2 < best.octets {
			break
		}
		if m := (match{e, x.count(e)}); (size == len(s) || !e.whole()) && x.beats(m, best) {
			best = m
		}
		i = e.link()
	}
	return best
}

// last returns the last of prefixes whose pattern s starts with, none if there
// is none.
func (x *index) last(s string, space []byte) uint32 {
	n := len(x.alike)
	if !strings.HasPrefix(s, x.alike) || n < len(s) && !x.behind.has(s[n]) {
		return none
	}
	low, high := 0, len(x.prefixes)
	if len(x.keys) > 0 {
		low, high = x.sameKey(prefixKey(s[n:]))
	}
	i, common := x.notBehind(s, low, high, n, space)
	for i != none && x.extent(&x.prefixes[i], s, space) > common {
		i = x.prefixes[i].link()
	}
	return i
}

// prefixKey is the first four octets of s, which sort as s does.
func prefixKey(s string) uint32 {
	if len(s) >= 4 {
		return uint32(s[3]) | uint32(s[2])<<8 | uint32(s[1])<<16 | uint32(s[0])<<24
	}
	var key uint32
	for i := range 4 {
		if key <<= 8; i < len(s) {
			key |= uint32(s[i])
		}
	}
	return key
}

// sameKey returns the range of the prefixes that have a key.
func (x *index) sameKey(key uint32) (low, high int) {
	keys := x.keys
	for n := len(keys); n > 0; {
		half := n / 2
		if keys[low+half] < key {
			low, n = low+half+1, n-half-1
		} else {
			n = half
		}
	}
	for high = low; high < len(keys) && keys[high] == key && high < low+manyPrefixes; {
		high++
	}
	if high == low+manyPrefixes {
		high += sort.Search(len(keys)-high, func(i int) bool { return keys[high+i] > key })
	}
	return low, high
}

// notBehind returns the last of prefixes[:high] whose pattern does not sort behind
// s, none if all do, and how many octets it has in common with s; those before low
// are known not to. What the patterns at both ends of a range have in common with
// s, all between them have too.
func (x *index) notBehind(s string, low, high, alike int, space []byte) (last uint32, common int) {
	from, below, above := low, alike, alike
	for low < high {
		middle := int(uint(low+high) >> 1)
		pattern := x.formOf(&x.prefixes[middle], s, space)
		common := min(below, above)
		// Often one octet tells, for less than a call.
		if common < len(pattern) && common < len(s) && pattern[common] == s[common] {
			common += commonPrefix(pattern[common:], s[common:])
		}
		if common == len(pattern) || common < len(s) && pattern[common] < s[common] {
			low, below = middle+1, common
		} else {
			high, above = middle, common
		}
	}
	switch low {
	case 0:
		return none, 0
	case from:
		below = commonPrefix(x.formOf(&x.prefixes[low-1], s, space), s)
	}
	return uint32(low - 1), below
}

// formOf returns the pattern of one of the prefixes, as far as s can tell.
func (x *index) formOf(e *entry, s string, space []byte) string {
	if e.spelt() {
		return x.speltPattern(e, s, space)
	}
	return x.pattern(e)
}

// eightOctets loads the first eight octets of s, the first lowest.
func eightOctets(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// commonPrefix returns how many octets a and b start with alike.
func commonPrefix(a, b string) (n int) {
	for n+8 <= len(a) && n+8 <= len(b) {
		if differ := eightOctets(a[n:]) ^ eightOctets(b[n:]); differ != 0 {
			return n + bits.TrailingZeros64(differ)/8
		}
		n += 8
	}
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
