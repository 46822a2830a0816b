package policy

import (
	"math/bits"
	"slices"
	"strings"
)

// Rules with an inner star are found by a gram: three octets in a row of the
// pattern, which every target that it matches holds. The two are chosen that the
// fewest other patterns hold, so that a target meets few rules in vain.
const (
	gramSize   = 3
	gramBits   = 12
	maxBuckets = 1 << gramBits
	manyWild   = 64 // as many rules are looked through faster by bucket
)

// gramHash hashes the first three octets of s.
func gramHash(s string) uint32 { return hashGram(uint32(s[0])<<16 | uint32(s[1])<<8 | uint32(s[2])) }

// hashGram hashes the three octets in the lower end of gram.
func hashGram(gram uint32) uint32 { return gram << 8 * 2654435761 >> (32 - gramBits) }

// nextGram returns where the first gram of a pattern is from offset i on, and
// whether there is one.
func nextGram(pattern string, wildcard byte, i int) (at int, ok bool) {
	for ; i+gramSize <= len(pattern); i++ {
		star := strings.LastIndexByte(pattern[i:i+gramSize], wildcard)
		if star < 0 {
			return i, true
		}
		i += star
	}
	return 0, false
}

// A gramSet is the grams that a target holds, told apart as far as there is room.
type gramSet [1 << setBits]byte

const setBits = 9

func setPlace(hash uint32) uint32 { return hash >> (gramBits - setBits) % (1 << setBits) }

func (g *gramSet) add(s string) {
	if len(s) < gramSize {
		return
	}
	gram := uint32(s[0])<<8 | uint32(s[1])
	for i := gramSize - 1; i < len(s); i++ {
		gram = gram<<8 | uint32(s[i])
		g[setPlace(hashGram(gram))] = 1
	}
}

// hold reports whether a target with these grams may match an entry: it has both
// grams that the entry names.
func (g *gramSet) hold(e *entry) bool {
	return e.next == none || g[setPlace(e.next&0xffff)]&g[setPlace(e.next>>16)] != 0
}

// sortWild sorts the rules with a star by precedence. Where they are many, those
// without a gram come first and the others after them, by bucket.
func (b *builder) sortWild() {
	b.choose()
	many := len(b.star) > manyWild
	if many {
		b.shift = uint8(gramBits - min(bits.Len(uint(len(b.star)))-1, gramBits))
	}
	order := make([]uint32, len(b.star))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(i, j uint32) int {
		x, y := &b.star[i], &b.star[j]
		if many && b.bucket(x) != b.bucket(y) {
			return b.bucket(x) - b.bucket(y)
		}
		return byPrecedence(x, y)
	})
	b.wild = make([]entry, len(order))
	for at, i := range order {
		b.wild[at] = b.star[i].entry
		b.octets = append(b.octets, b.star[i].octets)
	}
	if b.always = uint32(len(order)); many {
		b.fill(order)
	}
}

// bucket is where a rule with a star goes, -1 without a gram.
func (b *builder) bucket(r *rule) int {
	if r.next == none {
		return -1
	}
	return int(r.next & 0xffff >> b.shift)
}

// fill makes buckets[i]:buckets[i+1] the range of the i-th bucket.
func (b *builder) fill(order []uint32) {
	b.buckets = make([]uint32, 0, maxBuckets>>b.shift+1)
	for at, i := range order {
		for len(b.buckets) <= b.bucket(&b.star[i]) {
			b.buckets = append(b.buckets, uint32(at))
		}
	}
	for len(b.buckets) < cap(b.buckets) {
		b.buckets = append(b.buckets, uint32(len(order)))
	}
	b.always = b.buckets[0]
}

// choose gives each rule with a star the two rarest of its grams.
func (b *builder) choose() {
	if len(b.star) == 0 {
		return
	}
	var frequency [maxBuckets]uint32
	for i := range b.star {
		pattern, wildcard := b.pattern(&b.star[i].entry), b.wildcard(&b.star[i].entry)
		for at, ok := nextGram(pattern, wildcard, 0); ok; at, ok = nextGram(pattern, wildcard, at+1) {
			frequency[gramHash(pattern[at:])]++
		}
	}
	for i := range b.star {
		e := &b.star[i].entry
		e.next = none
		if e.forked() {
			continue // it has other grams in a query
		}
		pattern, wildcard := b.pattern(e), b.wildcard(e)
		rarest, second := none, none
		for at, ok := nextGram(pattern, wildcard, 0); ok; at, ok = nextGram(pattern, wildcard, at+1) {
			switch hash := gramHash(pattern[at:]); {
			case rarest == none || frequency[hash] < frequency[rarest]:
				rarest, second = hash, rarest
			case hash != rarest && (second == none || frequency[hash] < frequency[second]):
				second = hash
			}
		}
		if second == none {
			second = rarest
		}
		if rarest != none {
			e.next = rarest | second<<16
		}
	}
}

// lookupWild goes on with the rules that have a star, as long as they could beat
// the best so far.
func (x *index) lookupWild(s string, best match) match {
	if len(x.wild) == 0 {
		return best
	}
	var grams gramSet
	grams.add(s)
	best = x.firstOf(0, int(x.always), s, &grams, best)
	if len(x.buckets) == 0 {
		return best
	}
	var seen [maxBuckets / 64]uint64
	for i := 0; i+gramSize <= len(s); i++ {
		b := gramHash(s[i:]) >> x.shift
		if seen[b/64]&(1<<(b%64)) == 0 {
			seen[b/64] |= 1 << (b % 64)
			best = x.firstOf(int(x.buckets[b]), int(x.buckets[b+1]), s, &grams, best)
		}
	}
	return best
}

// firstOf looks through wild[from:to], which is sorted by precedence.
func (x *index) firstOf(from, to int, s string, grams *gramSet, best match) match {
	for i := from; i < to; i++ {
		e := &x.wild[i]
		if !grams.hold(e) {
			continue
		}
		m := match{e, x.count(e, len(x.prefixes)+i)}
		if !m.beats(best) {
			break
		}
		if x.matches(e, s) {
			return m
		}
	}
	return best
}

// matches compares an entry that has an inner star.
func (x *index) matches(e *entry, s string) bool {
	if !e.forked() {
		return matchStars(x.pattern(e), x.wildcard(e), e.whole(), s)
	}
	seam := strings.IndexByte(s, '?')
	if seam < 0 {
		seam = len(s)
	}
	return fork{x.pattern(e), x.inQuery(e)}.matches(parted{s[:seam], s[seam:]}, e.whole())
}
