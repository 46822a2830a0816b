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
	b := builder{index: &index{comparison: c, text: r.text}, audience: a}
	for rec := range r.records(a.blocks) {
		if rec.key != agentKey {
			b.record(&rec.record)
		}
	}
	b.canon = string(b.written)
	b.sortPrefixes()
	b.sortWild()
	b.keepOctets()
	return b.index
}

// A builder collects the rules of a group.
type builder struct {
	*index
	audience
	written       []byte // becomes canon
	scratch       []byte
	literal, star []rule
}

// A rule is an entry on its way into an index.
type rule struct {
	entry
	octets uint32
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
	b.add(rec, path, at)
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

// add puts a rule into its list. at is where path stands in the text, negative
// where it does not.
func (b *builder) add(rec *record, path string, at int) {
	var p pattern
	p, b.scratch = b.appendPattern(b.scratch[:0], path)
	e := entry{at: uint32(at), line: uint32(rec.line)}
	if rec.key == allowKey {
		e.line |= allows
	}
	var compared, fork string
	if p.same {
		compared = path[:p.size]
	} else {
		compared, fork = text(b.scratch[:p.size]), text(b.scratch[p.size:])
	}
	trimmed, star := compared, false
	if n := len(compared); compared[n-1] == p.wildcard {
		trimmed, star = compared[:n-1], true
		fork = strings.TrimSuffix(fork, wildcard)
	}
	if !p.same || at < 0 {
		e.at = b.keep(trimmed, fork, p.wildcard, rec.at)
	}
	if folder, ok := b.folder(compared); ok && e.allow() {
		page := e
		page.size, page.line = uint32(len(folder)), e.line|anchored
		b.place(page, len(folder)+len("$"), strings.Contains(folder, wildcard))
	}
	e.size = uint32(len(trimmed))
	if star {
		e.size |= starred
	}
	if fork != "" {
		e.size |= forked
	}
	if p.anchored {
		e.line |= anchored
	}
	if p.wildcard != '*' {
		e.line |= starless
	}
	b.place(e, p.octets, strings.IndexByte(trimmed, p.wildcard) >= 0)
}

// keep writes down a pattern that stands nowhere in the text, and returns where.
func (b *builder) keep(compared, fork string, wildcard byte, line int) (at uint32) {
	switch {
	case fork != "":
		b.written = binary.LittleEndian.AppendUint32(b.written, uint32(len(fork)))
	case wildcard != '*':
		b.written = append(b.written, wildcard)
	}
	b.written = binary.LittleEndian.AppendUint32(b.written, uint32(line))
	at = inCanon | uint32(len(b.written))
	b.written = append(append(b.written, compared...), fork...)
	return at
}

// place puts an entry into the list of its kind.
func (b *builder) place(e entry, octets int, star bool) {
	if star {
		b.star = append(b.star, rule{e, uint32(octets)})
	} else {
		b.literal = append(b.literal, rule{e, uint32(octets)})
	}
}
