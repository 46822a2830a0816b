package policy

// decide returns the rule that decides on a target's path and query, without
// entry where none matches. Where the path has dot segments, the origin may
// serve either spelling of it, and both have to be allowed.
func (x *index) decide(path string) match {
	switch {
	case x.canonical(path):
		return x.lookup(path)
	case len(path) <= smallTarget:
		var space [3 * smallTarget]byte
		return x.decideRewritten(path, space[:0])
	}
	b := borrow(3 * len(path))
	defer b.giveBack()
	return x.decideRewritten(path, b.space)
}

func (x *index) decideRewritten(path string, space []byte) match {
	sent, seam := x.appendTarget(space, path)
	deciding := x.lookup(text(sent))
	if deciding.disallows() || !dotted(text(sent[:seam])) {
		return deciding
	}
	// In place: what is written is never longer than what has been read.
	resolved := append(removeDots(sent[:0], text(sent[:seam])), sent[seam:]...)
	if other := x.lookup(text(resolved)); other.disallows() {
		return other
	}
	return deciding
}

// lookup returns the rule of most precedence that matches s, a target in
// canonical form.
func (x *index) lookup(s string) match {
	var best match
	for i := x.last(s); i != none; {
		e := &x.prefixes[i]
		// The chain grows shorter; star and anchor add two octets at most.
		if x.octets == nil && best.entry != nil && e.length()+2 < best.octets {
			break
		}
		if m := (match{e, x.count(e, int(i))}); (e.length() == len(s) || !e.whole()) && m.beats(best) {
			best = m
		}
		i = e.next
	}
	return x.lookupWild(s, best)
}

// count returns the octets of the i-th entry.
func (x *index) count(e *entry, i int) int {
	if x.octets != nil {
		return int(x.octets[i])
	}
	n := e.length()
	if e.starred() {
		n++
	}
	if e.anchored() {
		n++
	}
	return n
}

// last returns the last of prefixes whose pattern s starts with, none if there
// is none.
func (x *index) last(s string) uint32 {
	low, high := 0, len(x.prefixes)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if notBehind(x.pattern(&x.prefixes[middle]), s) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == 0 {
		return none
	}
	i := uint32(low - 1)
	common := commonPrefix(x.pattern(&x.prefixes[i]), s)
	for i != none && x.prefixes[i].length() > common {
		i = x.prefixes[i].next
	}
	return i
}

// notBehind is pattern <= s. The first octet of nearly all is "/", and often the
// second tells, for less than a call.
func notBehind(pattern, s string) bool {
	if len(pattern) > 1 && len(s) > 1 && pattern[0] == s[0] && pattern[1] != s[1] {
		return pattern[1] < s[1]
	}
	return pattern <= s
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
