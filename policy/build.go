package policy

import (
	"encoding/binary"
	"strings"
	"unsafe"
)

const entrySize = int(unsafe.Sizeof(entry{}))

// An audience is whom an index is made for.
type audience struct {
	blocks []int // of the group
	strict bool  // what lacks a slash, and full URLs of origin, disallow too
	origin Origin
}

// newIndex reads the group of an audience and makes its rules ready.
func newIndex(c *comparison, r *reading, a audience) *index {
	b := builder{index: &index{comparison: c, read: r, text: r.text, stretch: 1}, audience: a}
	for _, i := range a.blocks {
		rec := r.block(i)
		before := b.seen - rec.after
		for rec.next() {
			if b.seen = before + rec.after; rec.key != agentKey {
				b.record(&rec.record)
			}
		}
	}
	prefixes, wild := b.sortPrefixes(), b.sortWild()
	b.settle(prefixes, wild)
	b.findAlike(prefixes)
	return b.index
}

// settle moves all that has been collected to where it stays: one piece of memory,
// because memory is handed out in steps.
func (b *builder) settle(prefixes, wild []ordinal) {
	entries, buckets := len(prefixes)+len(wild), len(b.buckets)
	words := make([]uint32, entrySize/4*entries+buckets+(len(b.kept)+3)/4)
	if len(words) == 0 {
		return
	}
	all := unsafe.Slice((*entry)(unsafe.Pointer(unsafe.SliceData(words))), entries)
	for i, o := range prefixes {
		all[i] = b.literal[o.rule].entry
	}
	for i, o := range wild {
		all[len(prefixes)+i] = b.star[o.rule].entry
	}
	b.prefixes, b.wild = all[:len(prefixes)], all[len(prefixes):]
	rest := words[entrySize/4*entries:]
	copy(rest, b.buckets)
	b.buckets = rest[:buckets]
	octets := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(rest[buckets:]))), len(b.kept))
	copy(octets, b.kept)
	b.canon = text(octets)
}

// findAlike makes ready what tells at one look that none of the prefixes match.
func (b *builder) findAlike(prefixes []ordinal) {
	if len(prefixes) == 0 {
		return
	}
	pattern := func(i int) string { return b.literal[prefixes[i].rule].pattern }
	n := min(mostAlike, commonPrefix(pattern(0), pattern(len(prefixes)-1)))
	b.alike = strings.Clone(pattern(0)[:n])
	if len(pattern(0)) == n {
		for i := range b.behind {
			b.behind[i] = ^uint32(0)
		}
		return
	}
	for i := range prefixes {
		b.behind.add(pattern(i)[n])
	}
}

// mostAlike is how many octets are worth their memory.
const mostAlike = 32

// exact returns s without the room that it has grown in vain.
func exact[T any](s []T) []T {
	if len(s) == cap(s) {
		return s
	}
	return append(make([]T, 0, len(s)), s...)
}

// A builder collects the rules of a group.
type builder struct {
	*index
	audience
	seen    int    // octets of the group that have been read
	kept    []byte // becomes canon
	passing []byte // patterns that only the builder has in the form that is compared
	scratch []byte

	literal, star []rule
}

// A rule is an entry on its way into an index.
type rule struct {
	entry
	place    uint32 // of its line
	octets   uint32
	wildcard byte
	pattern  string // as compared
}

// record adds the rule of a record, if its path can match something.
func (b *builder) record(rec *record) {
	value := b.text[rec.from:rec.to]
	path, ok := usable(value, rec.key == disallowKey && b.strict, b.origin)
	if !ok {
		return
	}
	if rec.key == disallowKey && !b.restricts {
		b.restricts, b.restrict, b.line = true, uint32(rec.at), uint32(rec.line)
	}
	at := rec.to - len(path)
	if !strings.HasSuffix(value, path) {
		at = -1
	}
	literal, anchor := strings.CutSuffix(path, "$")
	b.add(rec, literal, anchor, at)
	if folder, ok := b.folder(literal); ok && rec.key == allowKey {
		b.add(rec, folder, true, at)
	}
}

// usable returns the path of a rule, and whether it can match at all. Where the
// reading is lenient, a slash is put before a path that lacks it, and a full URL
// of the origin stands for its path; one of another origin never means "/".
func usable(value string, lenient bool, origin Origin) (path string, ok bool) {
	switch {
	case pathLike(value):
		return value, true
	case value == "" || !lenient:
		return "", false
	case absoluteURL(value):
		t, err := ParseTarget(value)
		return t.Path, err == nil && t.Origin == origin
	}
	return "/" + value, true
}

// add puts a rule into its list. at is where its path stands in the text,
// negative where it does not.
func (b *builder) add(rec *record, literal string, anchor bool, at int) {
	literal, star := strings.CutSuffix(literal, wildcard)
	p, out := b.appendPattern(b.scratch[:0], literal)
	b.scratch = out
	r := rule{place: uint32(rec.at), octets: uint32(b.size(literal)), wildcard: p.wildcard}
	r.next = none
	if rec.key == allowKey {
		r.next |= allows
	}
	if star {
		r.size |= starred
	}
	if anchor {
		r.size |= anchored
	}
	r.octets += uint32(r.tail())
	if p.same && at >= 0 {
		r.at, r.pattern = uint32(at), literal
		r.size |= uint32(len(literal))
	} else {
		b.keep(&r, p, literal, at)
	}
	if strings.IndexByte(r.pattern, p.wildcard) >= 0 {
		b.star = append(b.star, r)
		return
	}
	b.literal = append(b.literal, r)
	if b.spelt = b.spelt || r.spelt(); r.at&inCanon != 0 || r.spelt() {
		b.stretch = mostStretch
	}
}

// mostStretch is how many octets of a path as written become one that is
// compared: three of an escape, of three escapes that are one letter, which has a
// lower case of one.
const mostStretch = 9

// keep writes a pattern down that does not stand in the text in the form that is
// compared. Where that would make the index too large for its text, the form is
// made anew whenever it is compared.
func (b *builder) keep(r *rule, p pattern, literal string, at int) {
	compared, fork := []byte(nil), []byte(nil)
	if p.same {
		compared = []byte(literal)
	} else {
		compared, fork = b.scratch[:p.size], b.scratch[p.size:]
	}
	if len(fork) > 0 {
		r.size |= forked
	}
	if p.wildcard != '*' {
		r.next |= starless
	}
	if at >= 0 && b.room() < headSize+forkSize+len(compared)+len(fork) {
		from := len(b.passing)
		b.passing = append(b.passing, compared...)
		r.at, r.pattern = uint32(at), text(b.passing[from:])
		r.size |= uint32(len(literal))
		r.next |= spelt
		return
	}
	switch {
	case len(fork) > 0:
		b.kept = binary.LittleEndian.AppendUint32(b.kept, uint32(len(fork)))
	case p.wildcard != '*':
		b.kept = append(b.kept, p.wildcard)
	}
	b.kept = binary.LittleEndian.AppendUint32(b.kept, r.octets)
	b.kept = binary.LittleEndian.AppendUint32(b.kept, r.place)
	from := len(b.kept)
	b.kept = append(append(b.kept, compared...), fork...)
	r.at, r.pattern = inCanon|uint32(from), text(b.kept[from:from+len(compared)])
	r.size |= uint32(len(compared))
}

// room is how many octets the index may still grow by: with the text it is to
// take no more than two and a half times that, and memory is handed out in steps
// that may be a quarter too large for a text.
func (b *builder) room() int {
	return b.seen*6/5 - entrySize*(1+len(b.literal)+len(b.star)) - len(b.kept)
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
