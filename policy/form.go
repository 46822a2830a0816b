package policy

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A form is a way to write paths in which two spellings that are to be equal
// are the same octets: it says which octets stand for themselves, raw or when
// their escape is met. Every other octet is written as its escape, in upper
// case.
type form struct{ raw, escaped [256]bool }

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

var (
	// rfcPath is RFC 9309 2.2.2 with RFC 3986 6.2.2: escapes of unreserved octets
	// are decoded, and raw stays what RFC 3986 3.3 and 3.4 let stand in a path or
	// query (which brackets may not), less the two that are special to robots.txt:
	// a literal one equals the escape that a rule is told to write (2.2.3).
	rfcPath = &form{raw: octetsOf(unreserved + "/?:@!&'()+,;="), escaped: octetsOf(unreserved)}

	// rfcQuery adds that ":" and "/" have no meaning of their own in a query: raw
	// and escaped are the same there (RFC 9309 2.2.2, Figure 4).
	rfcQuery = &form{raw: rfcPath.raw, escaped: octetsOf(unreserved + ":/")}

	// decodedPath decodes every escape.
	decodedPath = &form{raw: below(256), escaped: below(256)}

	// googlePath decodes nothing; in Google's parser a pattern has no literal star
	// and an inner "$" is itself.
	googlePath = &form{raw: below(utf8.RuneSelf)}
)

func octetsOf(members string) (set [256]bool) {
	for i := range len(members) {
		set[members[i]] = true
	}
	return set
}

func below(n int) (set [256]bool) {
	for i := range n {
		set[i] = true
	}
	return set
}

// Beside what a form lets stand, "*" stands in a pattern; in a target nothing
// does ("/" stands in every form).
const (
	inPattern = '*'
	inTarget  = '/'
)

// standing returns how many octets at the start of s are in form f already.
func (f *form) standing(s string, star byte) int {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if octet, escaped := unescape(s[i:]); escaped {
				if f.escaped[octet] || lowerHex(s[i+1]) || lowerHex(s[i+2]) {
					return i
				}
				i += len("41")
				continue
			}
		}
		if !f.raw[c] && c != star {
			return i
		}
	}
	return len(s)
}

func lowerHex(c byte) bool { return 'a' <= c && c <= 'f' }

// append appends s in form f to dst. A "%" that begins no escape is an octet
// like any other.
func (f *form) append(dst []byte, s string, star byte) []byte {
	for i := 0; i < len(s); {
		c, escaped := unescape(s[i:])
		switch {
		case escaped && f.escaped[c], !escaped && (f.raw[c] || c == star):
			dst = append(dst, c)
		default:
			dst = appendEscape(dst, c)
		}
		if escaped {
			i += len("%41")
		} else {
			i++
		}
	}
	return dst
}

// size returns how many octets s has in form f.
func (f *form) size(s string, star byte) int {
	n := f.standing(s, star)
	for i := n; i < len(s); {
		c, escaped := unescape(s[i:])
		switch {
		case escaped && f.escaped[c], !escaped && (f.raw[c] || c == star):
			n++
		default:
			n += len("%41")
		}
		if escaped {
			i += len("%41")
		} else {
			i++
		}
	}
	return n
}

// unescape returns the first octet of s, or the octet that the escape at its
// start stands for.
func unescape(s string) (c byte, escaped bool) {
	if s[0] != '%' || len(s) < 3 {
		return s[0], false
	}
	high, low := unhex(s[1]), unhex(s[2])
	if high < 0 || low < 0 {
		return s[0], false
	}
	return byte(high<<4 | low), true
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789ABCDEF"
	return append(dst, '%', hex[c>>4], hex[c&0xf])
}

// folding returns how many octets at the start of s no folding changes.
func folding(s string) int {
	for i := range len(s) {
		if c := s[i]; 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf {
			return i
		}
	}
	return len(s)
}

// lower writes b[from:] in lower case, in place; b grows only where a letter's
// lower case is longer. An octet that is no UTF-8 stays as it is.
func lower(b []byte, from int) []byte {
	for i := from; i < len(b); i++ {
		switch c := b[i]; {
		case 'A' <= c && c <= 'Z':
			b[i] = c + 'a' - 'A'
		case c >= utf8.RuneSelf:
			return lowerRunes(b, i)
		}
	}
	return b
}

// lowerRunes appends the lower case behind b and then moves it into place.
func lowerRunes(b []byte, from int) []byte {
	end := len(b)
	for i := from; i < end; {
		r, size := utf8.DecodeRune(b[i:end])
		if r == utf8.RuneError && size == 1 {
			b = append(b, b[i])
		} else {
			b = utf8.AppendRune(b, unicode.ToLower(r))
		}
		i += size
	}
	return b[:from+copy(b[from:], b[end:])]
}

// removeDots appends path, which starts with "/", without its dot segments (RFC
// 3986 5.2.4). Unlike path.Clean it leaves empty segments alone. A dot may be
// written as its escape.
func removeDots(dst []byte, path string) []byte {
	base := len(dst)
	for path != "" {
		segment := path
		if i := strings.IndexByte(path[1:], '/'); i >= 0 {
			segment = path[:1+i]
		}
		path = path[len(segment):]
		dots := dotSegment(segment[1:])
		if dots == 2 {
			dst = dst[:base+max(0, bytes.LastIndexByte(dst[base:], '/'))]
		}
		switch {
		case dots == 0:
			dst = append(dst, segment...)
		case path == "":
			dst = append(dst, '/')
		}
	}
	return dst
}

// dotSegment returns 1 for ".", 2 for ".." and 0 for any other segment.
func dotSegment(s string) int {
	dots := 0
	for s != "" {
		c, escaped := unescape(s)
		if c != '.' || dots == 2 {
			return 0
		}
		dots++
		if escaped {
			s = s[len("%2E"):]
		} else {
			s = s[1:]
		}
	}
	return dots
}
