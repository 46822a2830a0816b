package policy

import "strings"

// A pattern is the path of a rule, or a piece of one between two stars, in the
// two forms it is compared in. Both have the same stars.
type pattern struct {
	path  string // canonical: "*" is the wildcard, "$" at the end the anchor, all else literal
	query string // the same as canonicalQuery has it
}

func newPattern(value string) pattern {
	literal, anchored := strings.CutSuffix(value, "$")
	path := canonical(literal, true)
	switch {
	case path == literal:
		path = value // shares the memory of the file's text
	case anchored:
		path += "$"
	}
	return pattern{path: path, query: canonicalQuery(path)}
}

// octets is the pattern's specificity; the star and the anchor count.
func (p pattern) octets() int { return len(p.path) }

// cut parts p at its first star.
func (p pattern) cut() (piece, rest pattern, found bool) {
	piece.path, rest.path, found = strings.Cut(p.path, wildcard)
	piece.query, rest.query, _ = strings.Cut(p.query, wildcard)
	return piece, rest, found
}

// A subject is what patterns are compared with: the canonical path of a target
// and its query. An offset into it counts through both.
type subject struct {
	path  string // holds no "?"
	query string // as canonicalQuery has it; starts with "?" unless it is empty
}

func newSubject(target string) subject {
	path, query := target, ""
	if i := strings.IndexByte(target, '?'); i >= 0 {
		path, query = target[:i], target[i:]
	}
	return subject{path: canonical(path, false), query: canonicalQuery(canonical(query, false))}
}

// resolved returns s with its dot segments resolved, and whether it had any.
func (s subject) resolved() (subject, bool) {
	if !strings.Contains(s.path, "/.") {
		return s, false
	}
	path := removeDotSegments(s.path)
	return subject{path: path, query: s.query}, path != s.path
}

func (s subject) len() int { return len(s.path) + len(s.query) }

// matches reports whether p matches s from its first octet (RFC 9309 2.2.2).
// Each piece between stars is taken at its earliest place, which leaves the
// most room for the rest, so nothing is ever tried twice: the time grows with
// the length of s and p, not with their product or worse.
func (p pattern) matches(s subject) bool {
	anchored := strings.HasSuffix(p.path, "$")
	if anchored {
		p.path, p.query = strings.TrimSuffix(p.path, "$"), strings.TrimSuffix(p.query, "$")
	}
	piece, rest, more := p.cut()
	end, ok := s.start(piece)
	if !more {
		return ok && (!anchored || end == s.len())
	}
	for ok {
		piece, rest, more = rest.cut()
		if !more && anchored {
			return s.endsWith(piece, end)
		}
		end, ok = s.find(piece, end)
		if !more {
			return ok
		}
	}
	return false
}

// start returns the offset behind piece at the very start of s.
func (s subject) start(piece pattern) (end int, ok bool) {
	if strings.HasPrefix(s.path, piece.path) {
		return len(piece.path), true
	}
	begin, end, ok := s.across(piece)
	return end, ok && begin == 0
}

// find returns the offset behind the earliest occurrence of piece that begins
// at from or later. Path, seam and query are searched in that order, so of two
// occurrences the one that begins first also ends first.
func (s subject) find(piece pattern, from int) (end int, ok bool) {
	seam := len(s.path)
	if from <= seam {
		if i := strings.Index(s.path[from:], piece.path); i >= 0 {
			return from + i + len(piece.path), true
		}
		if begin, end, ok := s.across(piece); ok && begin >= from {
			return end, true
		}
		from = seam
	}
	if i := strings.Index(s.query[from-seam:], piece.query); i >= 0 {
		return from + i + len(piece.query), true
	}
	return 0, false
}

// endsWith reports whether s ends with piece, beginning at from or later.
func (s subject) endsWith(piece pattern, from int) bool {
	if s.query == "" {
		return s.len()-len(piece.path) >= from && strings.HasSuffix(s.path, piece.path)
	}
	if s.len()-len(piece.query) >= from && strings.HasSuffix(s.query, piece.query) {
		return true
	}
	begin, end, ok := s.across(piece)
	return ok && begin >= from && end == s.len()
}

// across places piece over the seam of path and query. There is one way at
// most: a path holds no "?", so the first one in piece is where the query
// starts.
func (s subject) across(piece pattern) (begin, end int, ok bool) {
	i := strings.IndexByte(piece.path, '?')
	if i < 0 || !strings.HasSuffix(s.path, piece.path[:i]) {
		return 0, 0, false
	}
	inQuery := piece.query[strings.IndexByte(piece.query, '?'):]
	if !strings.HasPrefix(s.query, inQuery) {
		return 0, 0, false
	}
	return len(s.path) - i, len(s.path) + len(inQuery), true
}
