package policy

import (
	"encoding/binary"
)

// An index holds the rules of one group, ready to be compared under one
// comparison. It never changes once built.
//
// Rules without an inner star are sorted by pattern. Every pattern that a target
// starts with is then found from the last one that does not sort behind the
// target: itself, or one of those it starts with in turn, which are chained.
// Rules with a star are found by three octets that the target must hold.
type index struct {
	*comparison
	read  *reading
	text  string // of the file, as in read
	canon string // patterns that stand nowhere in text: see keep

	alike    string   // what the patterns of all prefixes start with, as far as it is kept
	behind   octetSet // what follows alike in them; all octets where one of them ends there
	prefixes []entry  // sorted by pattern
	keys     []uint32 // of prefixes: four octets behind alike; nil where there is no room
	wild     []entry  // those without three octets in a row, then by bucket; each part sorted by precedence
	buckets  []uint32 // buckets[i]:buckets[i+1] is the range of the i-th in wild

	always    uint32 // how many of wild have no bucket
	restrict  uint32 // where the first line that disallows something begins
	line      uint32 // and its number
	restricts bool   // whether there is one
	shift     uint8  // makes a bucket of a hash
	stretch   uint8  // how many octets one of a prefix's pattern counts for at most
	spelt     bool   // some of prefixes are spelt
}

// An octetSet is a set of octets.
type octetSet [8]uint32

func (o *octetSet) add(c byte)      { o[c/32] |= 1 << (c % 32) }
func (o *octetSet) has(c byte) bool { return o[c/32]>>(c%32)&1 != 0 }

// An entry is one rule: twelve octets, because a file may have very many, in
// lines of ten.
type entry struct {
	at   uint32 // where the pattern begins in text, or with inCanon in canon
	size uint32 // octets of the pattern, without an anchor and without a star at its end
	next uint32 // its link: among prefixes, the longest other one that this one starts with; among wild, two hashes
}

// Flags in the highest bits of an entry's fields; maxText keeps them free.
const (
	inCanon  uint32 = 1 << 31 // at
	forked   uint32 = 1 << 31 // size: the pattern reads differently in a query
	starred  uint32 = 1 << 30 // size: a star at the end has been taken off
	anchored uint32 = 1 << 29 // size: a "$" at the end
	allows   uint32 = 1 << 31 // next
	starless uint32 = 1 << 30 // next: another octet than "*" is the wildcard
	spelt    uint32 = 1 << 29 // next: the pattern stands in text, but not in the form that is compared

	none = spelt - 1 // the link of an entry that has none
)

func (e *entry) allow() bool    { return e.next&allows != 0 }
func (e *entry) spelt() bool    { return e.next&spelt != 0 }
func (e *entry) link() uint32   { return e.next & none }
func (e *entry) anchored() bool { return e.size&anchored != 0 }
func (e *entry) starred() bool  { return e.size&starred != 0 }
func (e *entry) forked() bool   { return e.size&forked != 0 }
func (e *entry) length() int    { return int(e.size &^ (forked | starred | anchored)) }

// tail is how many octets were taken off the end of the pattern.
func (e *entry) tail() int { return int(e.size>>30&1 + e.size>>29&1) }

// whole reports whether the entry, one of the prefixes, matches nothing but its
// own pattern.
func (e *entry) whole() bool { return e.size&(anchored|starred) == anchored }

// A pattern that stands nowhere in the text was written into canon, behind its
// octets and the offset of its line. Before those stands, of a forked one, the
// length of its other form, which follows it; of one in which a star is literal,
// the octet that is its wildcard.
const (
	headSize = 8
	forkSize = 4
)

// pattern returns the form that is compared, of an entry that is not spelt.
func (x *index) pattern(e *entry) string {
	if at := e.at &^ inCanon; e.at&inCanon != 0 {
		return x.canon[at : at+uint32(e.length())]
	}
	return x.written(e)
}

// written returns the pattern of an entry that stands in text, as it does.
func (x *index) written(e *entry) string { return x.text[e.at : e.at+uint32(e.length())] }

// number reads what was written into canon n octets before a pattern.
func (x *index) number(e *entry, n uint32) uint32 {
	at := e.at&^inCanon - n
	return binary.LittleEndian.Uint32([]byte(x.canon[at : at+4]))
}

// inQuery returns the form that the pattern of a forked entry has in a query.
func (x *index) inQuery(e *entry) string {
	at := e.at&^inCanon + uint32(e.length())
	return x.canon[at : at+x.number(e, headSize+forkSize)]
}

// wildcard returns the octet that stands for any run of octets in the pattern of
// an entry that is not spelt.
func (x *index) wildcard(e *entry) byte {
	if e.next&starless == 0 {
		return '*'
	}
	return x.canon[e.at&^inCanon-headSize-1]
}

// count returns the octets of an entry, star and anchor included.
func (x *index) count(e *entry) int {
	switch {
	case e.at&inCanon != 0:
		return int(x.number(e, headSize))
	case e.spelt():
		return x.size(x.written(e)) + e.tail()
	}
	return e.length() + e.tail()
}

// place returns an offset in text on the entry's line.
func (x *index) place(e *entry) uint32 {
	if e.at&inCanon != 0 {
		return x.number(e, headSize-4)
	}
	return e.at
}

// rule returns the text of the entry's line.
func (x *index) rule(e *entry) string {
	at := int(x.place(e))
	if e.at&inCanon != 0 {
		return ruleText(x.text, at)
	}
	end := at + e.length() + e.tail()
	for at > 0 && !lineEnd(x.text[at-1]) {
		at--
	}
	if x.dialect != heed {
		return ruleText(x.text, at) // which may go on behind what was read
	}
	for blank(x.text[at]) {
		at++
	}
	return x.text[at:end]
}

// ruleText returns the text of the line that begins at offset at.
func ruleText(text string, at int) string {
	end := at
	for end < len(text) && !lineEnd(text[end]) {
		end++
	}
	var r record
	r.uncomment(text, at, end)
	return text[r.start:r.end]
}

// lineOf returns the number of the entry's line.
func (x *index) lineOf(e *entry) int { return x.read.lineAt(int(x.place(e))) }

// A match is a rule that matches, with what its precedence rests on.
type match struct {
	entry  *entry
	octets int
}

// beats is RFC 9309 2.2.2: the most octets win, allow among equals, and of what
// is left the first line is named.
func (x *index) beats(m, other match) bool {
	if other.entry == nil {
		return true
	}
	if m.octets != other.octets {
		return m.octets > other.octets
	}
	if m.entry.allow() != other.entry.allow() {
		return m.entry.allow()
	}
	return x.place(m.entry) < x.place(other.entry)
}

// disallows reports whether the outcome m is to disallow; no rule at all allows
// (RFC 9309 2.2.2).
func (m match) disallows() bool { return m.entry != nil && !m.entry.allow() }
