package policy

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// An ordinal sorts a rule by its key.
type ordinal struct {
	key  uint64
	rule uint32
}

func byKey(x, y ordinal) int { return cmp.Compare(x.key, y.key) }

// ordinals returns n of them, in the order of the rules.
func ordinals(n int) []ordinal {
	order := make([]ordinal, n)
	for i := range order {
		order[i].rule = uint32(i)
	}
	return order
}

// sortPrefixes sorts the rules without a star by pattern, drops those that an
// equal pattern makes useless, and chains each to the longest that it starts
// with.
func (b *builder) sortPrefixes() []ordinal {
	order := ordinals(len(b.literal))
	b.sortFrom(order, 0)
	used, last := order[:0], none
	for _, o := range order {
		r := &b.literal[o.rule]
		if n := len(used); n > 0 {
			// Equal patterns stand together, the better first.
			if other := &b.literal[used[n-1].rule]; other.pattern == r.pattern && other.whole() == r.whole() {
				continue
			}
		}
		for last != none {
			other := &b.literal[used[last].rule]
			if strings.HasPrefix(r.pattern, other.pattern) {
				break
			}
			last = other.link()
		}
		r.next = r.next&^none | last
		if !r.whole() {
			last = uint32(len(used))
		}
		used = append(used, o)
	}
	return used
}

const (
	keySize = 8
	fewRoom = 16 // as many rules are sorted faster as they are
)

// sortFrom sorts rules that are alike in the first octets of their patterns: by
// eight octets at a time, which are compared at once.
func (b *builder) sortFrom(order []ordinal, alike int) {
	for len(order) > fewRoom {
		alike = b.sharedBy(order, alike)
		for i := range order {
			order[i].key = keyOctets(b.literal[order[i].rule].pattern[alike:])
		}
		slices.SortFunc(order, byKey)
		// All runs of the same key but the last, which the loop goes on with.
		from := 0
		for i := 1; i < len(order); i++ {
			if order[i].key != order[from].key {
				b.sortFrom(order[from:i], alike)
				from = i
			}
		}
		if order = order[from:]; from == 0 && b.sharedBy(order, alike) < alike+keySize {
			break // some end here
		}
	}
	slices.SortFunc(order, func(x, y ordinal) int { return compare(&b.literal[x.rule], &b.literal[y.rule]) })
}

// sharedBy returns how many octets all patterns start with alike, of which some are
// known.
func (b *builder) sharedBy(order []ordinal, known int) int {
	shortest := b.literal[order[0].rule].pattern
	for _, o := range order[1:] {
		pattern := b.literal[o.rule].pattern
		shortest = shortest[:known+commonPrefix(shortest[known:], pattern[known:])]
	}
	return len(shortest)
}

func keyOctets(s string) uint64 {
	var b [keySize]byte
	copy(b[:], s)
	return binary.BigEndian.Uint64(b[:])
}

// compare sorts by pattern, then those that match it whole behind those that
// match what starts with it, then by precedence.
func compare(x, y *rule) int {
	if c := strings.Compare(x.pattern, y.pattern); c != 0 {
		return c
	}
	if x.whole() != y.whole() {
		if y.whole() {
			return -1
		}
		return 1
	}
	return byPrecedence(x, y)
}

// byPrecedence is index.beats of rules.
func byPrecedence(x, y *rule) int {
	switch {
	case x.octets != y.octets:
		return int(y.octets) - int(x.octets)
	case x.allow() != y.allow():
		if x.allow() {
			return -1
		}
		return 1
	}
	return int(x.place) - int(y.place)
}
