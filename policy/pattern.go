package policy

import (
	"bytes"
	"strings"
)

// A pattern is what became of a rule's path: the form in which it is compared,
// which is size octets of what was appended, then fork octets of the form that
// it has in a query. The anchor is taken off.
type pattern struct {
	size     int
	fork     int  // 0 where both forms are the same
	same     bool // it is compared as it is written, and nothing was appended
	anchored bool
	wildcard byte // "*", but where a star is literal
	octets   int  // RFC 9309 2.2.2; star and anchor count
}

// appendPattern brings the path of a rule into the form in which it is compared.
func (c *comparison) appendPattern(dst []byte, value string) (pattern, []byte) {
	literal, anchored := strings.CutSuffix(value, "$")
	p := pattern{size: len(literal), anchored: anchored, wildcard: '*', octets: c.octets(value)}
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
	for _, octet := range c.appendForm(nil, c.path, literal, inPattern) {
		held[octet] = true
	}
	for i := range held {
		if !held[i] {
			wildcard = byte(i)
			break
		}
	}
	for i, piece := range strings.Split(literal, "*") {
		if i > 0 {
			dst = append(dst, wildcard)
		}
		dst = c.appendForm(dst, c.path, piece, inPattern)
	}
	return dst, wildcard
}

// octets is the specificity of a rule's path (RFC 9309 2.2.2); star and anchor
// count.
func (c *comparison) octets(value string) int {
	if c.written {
		return len(value)
	}
	literal, anchored := strings.CutSuffix(value, "$")
	n := c.path.size(literal, inPattern)
	if anchored {
		n++
	}
	return n
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
