package policy

import "encoding/binary"

// An index holds the rules of one group, ready to be compared under one
// comparison. It never changes once built.
//
// Rules without an inner star are sorted by pattern. Every pattern that a target
// starts with is then found from the last one that does not sort behind the
// target: itself, or one of those it starts with in turn, which are chained.
// Rules with a star are found by three octets that the target must hold.
type index struct {
	*comparison
	text  string // of the file
	canon string // patterns that stand nowhere in text: see canonical

	prefixes []entry  // sorted by pattern
	wild     []entry  // those without three octets in a row, then by bucket; each part sorted by precedence
	buckets  []uint32 // buckets[i]:buckets[i+1] is the range of the i-th in wild
	octets   []uint32 // of prefixes, then of wild; nil where the entries tell

	always    uint32 // how many of wild have no bucket
	restrict  uint32 // where the first line that disallows something begins
	line      uint32 // and its number
	restricts bool   // whether there is one
	shift     uint8  // makes a bucket of a hash
}

// An entry is one rule: sixteen octets, because a file may have very many.
type entry struct {
	at   uint32 // where the pattern begins in text, or with inCanon in canon
	size uint32 // octets of the pattern, without an anchor and without a star at its end
	line uint32
	next uint32 // among prefixes, the longest other one that this one starts with
}

// Flags in the highest bits of an entry's fields; maxText keeps them free.
const (
	inCanon  uint32 = 1 << 31 // at
	forked   uint32 = 1 << 31 // size: the pattern reads differently in a query
	starred  uint32 = 1 << 30 // size: a star at the end has been taken off
	allows   uint32 = 1 << 31 // line
	anchored uint32 = 1 << 30 // line: a "$" at the end
	starless uint32 = 1 << 29 // line: another octet than "*" is the wildcard

	none = ^uint32(0)
)

func (e *entry) allow() bool    { return e.line&allows != 0 }
func (e *entry) anchored() bool { return e.line&anchored != 0 }
func (e *entry) starred() bool  { return e.size&starred != 0 }
func (e *entry) forked() bool   { return e.size&forked != 0 }
func (e *entry) length() int    { return int(e.size &^ (forked | starred)) }
func (e *entry) number() int    { return int(e.line &^ (allows | anchored | starless)) }

// whole reports whether the entry, one of the prefixes, matches nothing but its
// own pattern.
func (e *entry) whole() bool { return e.anchored() && !e.starred() }

// A pattern that stands nowhere in the text was written into canon, behind the
// offset of its line. Before that stands, of a forked one, the length of its
// other form, which follows it; of one in which a star is literal, the octet that
// is its wildcard.
const (
	originSize = 4
	forkSize   = 4
)

func (x *index) pattern(e *entry) string {
	if at := e.at &^ inCanon; e.at&inCanon != 0 {
		return x.canon[at : at+uint32(e.length())]
	}
	return x.text[e.at : e.at+uint32(e.length())]
}

// inQuery returns the form that the pattern of a forked entry has in a query.
func (x *index) inQuery(e *entry) string {
	at := int(e.at &^ inCanon)
	size := binary.LittleEndian.Uint32([]byte(x.canon[at-originSize-forkSize : at-originSize]))
	at += e.length()
	return x.canon[at : at+int(size)]
}

// wildcard returns the octet that stands for any run of octets in the entry's
// pattern.
func (x *index) wildcard(e *entry) byte {
	if e.line&starless == 0 {
		return '*'
	}
	return x.canon[e.at&^inCanon-originSize-1]
}

// rule returns the text of the entry's line.
func (x *index) rule(e *entry) string {
	at := int(e.at &^ inCanon)
	if e.at&inCanon != 0 {
		return ruleText(x.text, int(binary.LittleEndian.Uint32([]byte(x.canon[at-originSize:at]))))
	}
	end := at + e.length()
	for at > 0 && !lineEnd(x.text[at-1]) {
		at--
	}
	if x.dialect != heed {
		return ruleText(x.text, at) // which may go on behind what was read
	}
	for blank(x.text[at]) {
		at++
	}
	if e.starred() {
		end++
	}
	if e.anchored() {
		end++
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

// A match is a rule that matches, with what its precedence rests on.
type match struct {
	entry  *entry
	octets int
}

// beats is RFC 9309 2.2.2: the most octets win, allow among equals, and of what
// is left the first line is named.
func (m match) beats(other match) bool {
	if other.entry == nil {
		return true
	}
	if m.octets != other.octets {
		return m.octets > other.octets
	}
	if m.entry.allow() != other.entry.allow() {
		return m.entry.allow()
	}
	return m.entry.number() < other.entry.number()
}

// disallows reports whether the outcome m is to disallow; no rule at all allows
// (RFC 9309 2.2.2).
func (m match) disallows() bool { return m.entry != nil && !m.entry.allow() }
