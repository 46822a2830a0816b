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
func gramHash(s string) uint32 {
	return hashGram(uint32(s[0])<<8 | uint32(s[1])<<16 | uint32(s[2])<<24)
}

// hashGram hashes the three octets in the upper end of gram.
func hashGram(gram uint32) uint32 { return gram * 2654435761 >> (32 - gramBits) }

// piece cuts a pattern at its first wildcard.
func piece(pattern string, wildcard byte) (piece, rest string) {
	if i := strings.IndexByte(pattern, wildcard); i >= 0 {
		return pattern[:i], pattern[i+1:]
	}
	return pattern, ""
}

// A gramSet is the grams that a target holds, told apart as far as there is room.
type gramSet [1 << setBits]byte

const setBits = 9

func setPlace(hash uint32) uint32 { return hash >> (gramBits - setBits) % (1 << setBits) }

func (g *gramSet) add(s string) {
	g[setPlace(none)] = 1 // for what has no gram
	if len(s) < gramSize {
		return
	}
	i := 0
	for ; i+8 <= len(s); i += 6 {
		eight := eightOctets(s[i:])
		g[setPlace(hashGram(uint32(eight)<<8))] = 1
		g[setPlace(hashGram(uint32(eight>>8)<<8))] = 1
		g[setPlace(hashGram(uint32(eight>>16)<<8))] = 1
		g[setPlace(hashGram(uint32(eight>>24)<<8))] = 1
		g[setPlace(hashGram(uint32(eight>>32)<<8))] = 1
		g[setPlace(hashGram(uint32(eight>>40)<<8))] = 1
	}
	for ; i+gramSize <= len(s); i++ {
		g[setPlace(gramHash(s[i:]))] = 1
	}
}

// hold reports whether a target with these grams may match an entry: it has both
// grams that the entry names.
func (g *gramSet) hold(e *entry) bool {
	return g[setPlace(e.next)]&g[setPlace(e.next>>gramBits)] != 0
}

// sortWild sorts the rules with a star by precedence. Where they are many, those
// without a gram come first and the others after them, by bucket.
func (b *builder) sortWild() []ordinal {
	b.choose()
	buckets := min(bits.Len(uint(len(b.star)))-1, bits.Len(uint(max(b.room(), 0)/4))-1, gramBits)
	order := ordinals(len(b.star))
	if b.always = uint32(len(order)); len(order) > manyWild && buckets > 0 {
		b.shift = uint8(gramBits - buckets)
		b.fill(order)
	}
	b.byPrecedence(order[:b.always])
	for i := 1; i < len(b.buckets); i++ {
		b.byPrecedence(order[b.buckets[i-1]:b.buckets[i]])
	}
	return order
}

func (b *builder) byPrecedence(order []ordinal) {
	if len(order) > 1 {
		slices.SortFunc(order, func(x, y ordinal) int { return byPrecedence(&b.star[x.rule], &b.star[y.rule]) })
	}
}

// bucket is where a rule with a star goes, counted from 1, and 0 without a gram.
func (b *builder) bucket(r *rule) int {
	if r.link() == none {
		return 0
	}
	return 1 + int(r.link()%maxBuckets>>b.shift)
}

// fill orders the rules by bucket, and makes buckets[i]:buckets[i+1] the range of
// the i-th.
func (b *builder) fill(order []ordinal) {
	ends := make([]uint32, maxBuckets>>b.shift+2)
	for i := range b.star {
		ends[b.bucket(&b.star[i])+1]++
	}
	for i := 1; i < len(ends); i++ {
		ends[i] += ends[i-1]
	}
	for i := range b.star { // each start becomes an end, which is the next start
		end := &ends[b.bucket(&b.star[i])]
		order[*end].rule = uint32(i)
		*end++
	}
	b.buckets = ends[:len(ends)-1]
	b.always = b.buckets[0]
}

// choose gives each rule with a star the two rarest of its grams.
func (b *builder) choose() {
	if len(b.star) == 0 {
		return
	}
	var frequency [maxBuckets]uint32
	for i := range b.star {
		r := &b.star[i]
		for now, rest := piece(r.pattern, r.wildcard); now != "" || rest != ""; now, rest = piece(rest, r.wildcard) {
			for j := 0; j+gramSize <= len(now); j++ {
				frequency[gramHash(now[j:])]++
			}
		}
	}
	for i := range b.star {
		r := &b.star[i]
		if r.forked() {
			continue // it has other grams in a query
		}
		rarest, second := none, none
		for now, rest := piece(r.pattern, r.wildcard); now != "" || rest != ""; now, rest = piece(rest, r.wildcard) {
			for j := 0; j+gramSize <= len(now); j++ {
				switch hash := gramHash(now[j:]); {
				case rarest == none || frequency[hash] < frequency[rarest]:
					rarest, second = hash, rarest
				case hash != rarest && (second == none || frequency[hash] < frequency[second]):
					second = hash
				}
			}
		}
		if second == none {
			second = rarest
		}
		if rarest != none {
			r.next = r.next&^none | rarest | second<<gramBits
		}
	}
}

// lookupWild goes on with the rules that have a star, as long as they could beat
// the best so far.
func (x *index) lookupWild(s string, best match) match {
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
		m := match{e, x.count(e)}
		if !x.beats(m, best) {
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
	if e.spelt() {
		return x.matchSpelt(e, s)
	}
	if pattern := x.pattern(e); e.whole() && !e.forked() && pattern[len(pattern)-1] != s[len(s)-1] {
		return false // mostly: the last piece is not the last of s
	}
	if !e.forked() {
		return matchStars(x.pattern(e), x.wildcard(e), e.whole(), s)
	}
	seam := strings.IndexByte(s, '?')
	if seam < 0 {
		seam = len(s)
	}
	return fork{x.pattern(e), x.inQuery(e)}.matches(parted{s[:seam], s[seam:]}, e.whole())
}
