package policy

import (
	"encoding/binary"
	"strings"
)

// An audience is whom an index is made for.
type audience struct {
	blocks []int // of the group
	strict bool  // what lacks a slash, and full URLs of origin, disallow too
	origin Origin
}

// newIndex reads the group of an audience and makes its rules ready.
func newIndex(c *comparison, r *reading, a audience) *index {
	b := builder{index: &index{comparison: c, read: r, text: r.text, stretch: 1}, audience: a}
	octets := 0
	for _, i := range a.blocks {
		octets += len(r.block(i).text) - int(r.blocks[i].at)
	}
	b.literal, b.star = make([]rule, 0, octets/usualLine), make([]rule, 0, octets/usualLine)
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

// usualLine is half of the rules' lines: half of them have a star in many files.
const usualLine = 48

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
	r := rule{place: uint32(rec.at), octets: uint32(len(literal)), wildcard: p.wildcard}
	if !p.same {
		r.octets = uint32(b.size(literal))
	}
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
	b.spelt = b.spelt || r.spelt()
	if n := len(r.pattern); n > 0 {
		b.stretch = max(b.stretch, uint8((int(r.octets)-r.tail()+n-1)/n))
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
