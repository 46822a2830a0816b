package policy

import "strings"

// Where the index of a file would grow too large for its text, patterns that do
// not stand in the text in the form that is compared are brought into it whenever
// they are: an index of nothing but such patterns stays as small as any.

// reach is how many octets of a path as written are looked at, for more octets of
// the form that is compared than s has.
func (x *index) reach(s string) int {
	const tail = 4 // the last ones may have been cut off in an escape or letter
	if x.fold {
		return mostStretch * (len(s) + tail)
	}
	return len("%41") * (len(s) + tail)
}

// speltPattern makes up in space the pattern of one of the prefixes, as far as s
// can tell.
func (x *index) speltPattern(e *entry, s string, space []byte) string {
	written := x.written(e)
	written = written[:min(len(written), x.reach(s))]
	p, out := x.appendPattern(space[:0], written)
	if p.same {
		return written
	}
	return text(out[:p.size])
}

// extent is the length of the pattern of one of the prefixes, or one that is
// greater than that of s where the pattern's is.
func (x *index) extent(e *entry, s string, space []byte) int {
	if e.spelt() {
		return len(x.speltPattern(e, s, space))
	}
	return e.length()
}

// matchSpelt compares an entry that has an inner star.
func (x *index) matchSpelt(e *entry, s string) bool {
	written := x.written(e)
	b := borrow(8 * len(written)) // twice three octets for each, and a lower case that is longer
	defer b.giveBack()
	return x.matchWritten(b.space, written, e.whole(), s)
}

// matchWritten compares a rule's path without its anchor, which it brings into
// the form that is compared in dst.
func (c *comparison) matchWritten(dst []byte, literal string, anchor bool, target string) bool {
	p, out := c.appendPattern(dst, literal)
	if p.same {
		return matchStars(literal, p.wildcard, anchor, target)
	}
	compared, query := text(out[:p.size]), text(out[p.size:])
	if p.fork == 0 {
		return matchStars(compared, p.wildcard, anchor, target)
	}
	seam := strings.IndexByte(target, '?')
	if seam < 0 {
		seam = len(target)
	}
	return fork{compared, query}.matches(parted{target[:seam], target[seam:]}, anchor)
}
