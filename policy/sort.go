package policy

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// sortPrefixes sorts the rules without a star by pattern, drops those that an
// equal pattern makes useless, and chains each to the longest that it starts
// with.
func (b *builder) sortPrefixes() {
	order := b.order()
	b.prefixes = make([]entry, 0, len(order))
	b.octets = make([]uint32, 0, len(order)+len(b.star))
	last := none
	for _, o := range order {
		r := b.literal[o.rule]
		pattern := b.pattern(&r.entry)
		if n := len(b.prefixes); n > 0 {
			// Equal patterns stand together, the better first.
			if other := &b.prefixes[n-1]; b.pattern(other) == pattern && other.whole() == r.whole() {
				continue
			}
		}
		for last != none && !strings.HasPrefix(pattern, b.pattern(&b.prefixes[last])) {
			last = b.prefixes[last].next
		}
		r.next = last
		if !r.whole() {
			last = uint32(len(b.prefixes))
		}
		b.prefixes = append(b.prefixes, r.entry)
		b.octets = append(b.octets, r.octets)
	}
	if len(b.prefixes) < len(order)*7/8 {
		b.prefixes = slices.Clip(append([]entry(nil), b.prefixes...))
	}
}

// An ordinal sorts a rule: mostly by eight octets of its pattern, which are
// compared at once.
type ordinal struct {
	key  uint64
	rule uint32
}

func (b *builder) order() []ordinal {
	shared := b.shared()
	order := make([]ordinal, len(b.literal))
	for i := range b.literal {
		order[i] = ordinal{eightOctets(b.pattern(&b.literal[i].entry)[shared:]), uint32(i)}
	}
	slices.SortFunc(order, func(x, y ordinal) int {
		if x.key != y.key {
			return cmp.Compare(x.key, y.key)
		}
		return b.compare(&b.literal[x.rule], &b.literal[y.rule])
	})
	return order
}

// shared returns how many octets all patterns start with alike.
func (b *builder) shared() int {
	if len(b.literal) == 0 {
		return 0
	}
	shortest := b.pattern(&b.literal[0].entry)
	for i := range b.literal {
		shortest = shortest[:commonPrefix(shortest, b.pattern(&b.literal[i].entry))]
	}
	return len(shortest)
}

func eightOctets(s string) uint64 {
	var b [8]byte
	copy(b[:], s)
	return binary.BigEndian.Uint64(b[:])
}

// compare sorts by pattern, then those that match it whole behind those that
// match what starts with it, then by precedence.
func (b *builder) compare(x, y *rule) int {
	if c := strings.Compare(b.pattern(&x.entry), b.pattern(&y.entry)); c != 0 {
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

func byPrecedence(x, y *rule) int {
	a, b := match{&x.entry, int(x.octets)}, match{&y.entry, int(y.octets)}
	switch {
	case a.beats(b):
		return -1
	case b.beats(a):
		return 1
	}
	return 0
}

// keepOctets keeps what has been counted only where the entries do not tell.
func (b *builder) keepOctets() {
	counted := b.octets
	b.octets = nil
	for i, n := range counted {
		if b.count(b.entry(i), i) != int(n) {
			b.octets = slices.Clip(append([]uint32(nil), counted...))
			return
		}
	}
}

// entry returns the i-th entry, prefixes first.
func (x *index) entry(i int) *entry {
	if i < len(x.prefixes) {
		return &x.prefixes[i]
	}
	return &x.wild[i-len(x.prefixes)]
}
