package policy

import "strings"

// matchStars reports whether a pattern with stars matches s from its first octet
// (RFC 9309 2.2.2), and to its last where it is anchored. Each piece between
// stars is taken at its earliest place, which leaves the most room for the rest,
// so nothing is ever tried twice: the time grows with the length of s and of the
// pattern, not with their product or worse.
func matchStars(pattern string, wildcard byte, anchored bool, s string) bool {
	star := strings.IndexByte(pattern, wildcard)
	if star < 0 {
		return strings.HasPrefix(s, pattern) && (!anchored || len(s) == len(pattern))
	}
	if !strings.HasPrefix(s, pattern[:star]) {
		return false
	}
	s = s[star:]
	for {
		pattern = pattern[star+1:]
		if star = strings.IndexByte(pattern, wildcard); star < 0 {
			if anchored {
				return strings.HasSuffix(s, pattern)
			}
			return strings.Contains(s, pattern)
		}
		i := strings.Index(s, pattern[:star])
		if i < 0 {
			return false
		}
		s = s[i+star:]
	}
}

// A fork is a pattern, or a piece of one between two stars, that reads
// differently in a path and in a query. Both forms have the same stars.
type fork struct{ path, query string }

// cut parts f at its first star.
func (f fork) cut() (piece, rest fork, more bool) {
	piece.path, rest.path, more = strings.Cut(f.path, wildcard)
	piece.query, rest.query, _ = strings.Cut(f.query, wildcard)
	return piece, rest, more
}

// A parted target is what forks are compared with. An offset into it counts
// through both.
type parted struct {
	path  string // holds no "?"
	query string // starts with "?" unless it is empty
}

func (t parted) len() int { return len(t.path) + len(t.query) }

// matches is matchStars for a fork, which has a star.
func (f fork) matches(t parted, anchored bool) bool {
	piece, rest, _ := f.cut()
	end, ok := t.start(piece)
	for more := false; ok; {
		if piece, rest, more = rest.cut(); !more && anchored {
			return t.endsWith(piece, end)
		}
		if end, ok = t.find(piece, end); !more {
			return ok
		}
	}
	return false
}

// start returns the offset behind piece at the very start of t.
func (t parted) start(piece fork) (end int, ok bool) {
	if strings.HasPrefix(t.path, piece.path) {
		return len(piece.path), true
	}
	begin, end, ok := t.across(piece)
	return end, ok && begin == 0
}

// find returns the offset behind the earliest occurrence of piece that begins
// at from or later. Path, seam and query are searched in that order, so of two
// occurrences the one that begins first also ends first.
func (t parted) find(piece fork, from int) (end int, ok bool) {
	seam := len(t.path)
	if from <= seam {
		if i := strings.Index(t.path[from:], piece.path); i >= 0 {
			return from + i + len(piece.path), true
		}
		if begin, end, ok := t.across(piece); ok && begin >= from {
			return end, true
		}
		from = seam
	}
	if i := strings.Index(t.query[from-seam:], piece.query); i >= 0 {
		return from + i + len(piece.query), true
	}
	return 0, false
}

// endsWith reports whether t ends with piece, beginning at from or later.
func (t parted) endsWith(piece fork, from int) bool {
	if t.query == "" {
		return t.len()-len(piece.path) >= from && strings.HasSuffix(t.path, piece.path)
	}
	if t.len()-len(piece.query) >= from && strings.HasSuffix(t.query, piece.query) {
		return true
	}
	begin, end, ok := t.across(piece)
	return ok && begin >= from && end == t.len()
}

// across places piece over the seam of path and query. There is one way at
// most: a path holds no "?", so the first one in piece is where the query
// starts.
func (t parted) across(piece fork) (begin, end int, ok bool) {
	i := strings.IndexByte(piece.path, '?')
	if i < 0 || !strings.HasSuffix(t.path, piece.path[:i]) {
		return 0, 0, false
	}
	inQuery := piece.query[strings.IndexByte(piece.query, '?'):]
	if !strings.HasPrefix(t.query, inQuery) {
		return 0, 0, false
	}
	return len(t.path) - i, len(t.path) + len(inQuery), true
}
