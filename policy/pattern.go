package policy

import (
	"bytes"
	"strings"
)

// A pattern is what became of a rule's path without its anchor: the form in which
// it is compared, which is size octets of what was appended, then fork octets of
// the form that it has in a query.
type pattern struct {
	size     int
	fork     int  // 0 where both forms are the same
	same     bool // it is compared as it is written, and nothing was appended
	wildcard byte // "*", but where a star is literal
}

// appendPattern brings a rule's path without its anchor into the form in which it
// is compared.
func (c *comparison) appendPattern(dst []byte, literal string) (pattern, []byte) {
	p := pattern{size: len(literal), wildcard: '*'}
	star, query := strings.IndexByte(literal, '*'), strings.IndexByte(literal, '?')
	narrow := c.path
	if star >= 0 || query >= 0 {
		narrow = c.query // what stands in a query stands in a path
	}
	if narrow.standing(literal, inPattern) == len(literal) && (!c.fold || folding(literal) == len(literal)) {
		p.same = true
		return p, dst
	}
	base := len(dst)
	switch {
	case c.path.escaped['*'] && (strings.Contains(literal, "%2A") || strings.Contains(literal, "%2a")):
		dst, p.wildcard = c.appendLiteralStar(dst, literal)
	case query >= 0 && (star < 0 || query < star):
		// All behind the "?" is of the query, so one form will do.
		dst = c.appendForm(dst, c.path, literal[:query], inPattern)
		dst = c.appendForm(dst, c.query, literal[query:], inPattern)
	default:
		dst = c.appendForm(dst, c.path, literal, inPattern)
	}
	p.size = len(dst) - base
	if c.query != c.path && star >= 0 && (query < 0 || star < query) {
		dst = c.appendFork(dst, dst[base:], literal)
		p.fork = len(dst) - base - p.size
	}
	return p, dst
}

// appendForm appends s in form f, and in lower case where case is ignored.
func (c *comparison) appendForm(dst []byte, f *form, s string, star byte) []byte {
	base := len(dst)
	dst = f.append(dst, s, star)
	if c.fold {
		dst = lower(dst, base)
	}
	return dst
}

// appendFork appends the form that a pattern has in a query, if that is another.
// Behind a star, a piece of it may lie on either side of the "?".
func (c *comparison) appendFork(dst, inPath []byte, literal string) []byte {
	behind := inPath[bytes.IndexByte(inPath, '*'):]
	if bytes.Contains(behind, []byte("%2F")) || bytes.Contains(behind, []byte("%3A")) {
		return c.query.append(dst, literal, inPattern)
	}
	return dst
}

// appendLiteralStar appends a pattern in which a star that was escaped is decoded
// to what it is in a target. Another octet then is the wildcard: one that the
// pattern does not hold. (One that holds all 256 would be read wrongly.)
func (c *comparison) appendLiteralStar(dst []byte, literal string) (out []byte, wildcard byte) {
	var held [256]bool
	base := len(dst)
	dst = c.appendForm(dst, c.path, literal, inPattern)
	for _, octet := range dst[base:] {
		held[octet] = true
	}
	dst = dst[:base]
	for i := range held {
		if !held[i] {
			wildcard = byte(i)
			break
		}
	}
	for {
		piece, rest, more := strings.Cut(literal, "*")
		dst = c.appendForm(dst, c.path, piece, inPattern)
		if !more {
			return dst, wildcard
		}
		dst, literal = append(dst, wildcard), rest
	}
}

// octets is the specificity of a rule's path (RFC 9309 2.2.2); star and anchor
// count.
func (c *comparison) octets(value string) int {
	literal, anchor := strings.CutSuffix(value, "$")
	if anchor {
		return c.size(literal) + 1
	}
	return c.size(literal)
}

// size is the octets of a rule's path without its anchor.
func (c *comparison) size(literal string) int {
	if c.written {
		return len(literal)
	}
	return c.path.size(literal, inPattern)
}

// show returns a rule's path in canonical form.
func (c *comparison) show(value string) string {
	literal, anchored := strings.CutSuffix(value, "$")
	out := c.appendForm(nil, c.path, literal, inPattern)
	if anchored {
		out = append(out, '$')
	}
	return string(out)
}
