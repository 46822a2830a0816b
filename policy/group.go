package policy

import "strings"

// wildcard is the name of the groups that rule agents no group names.
const wildcard = "*"

// A group is what the configured tokens select: all blocks of one product
// token taken together (RFC 9309 2.2.1).
type group struct {
	agent  string // configured token that selected it; for * or none, the first token
	name   string // that token as configured, or "*"; "" when there is no group
	blocks []int
}

// group selects by tokens, in their order, and falls back to *. A token is
// compared whole: one that merely begins or holds a name of the file's is
// another agent's.
func (r *Robots) group(tokens []string) group {
	for _, token := range tokens {
		if blocks, ok := r.groups[strings.ToLower(productToken(token))]; ok {
			return group{agent: token, name: token, blocks: blocks}
		}
	}
	if blocks, ok := r.groups[wildcard]; ok {
		return group{agent: first(tokens), name: wildcard, blocks: blocks}
	}
	return group{agent: first(tokens)}
}

// agentName returns what the value of an agent line names: a product token,
// the wildcard, or "" for nothing.
func agentName(value string) string {
	if rest, ok := strings.CutPrefix(value, wildcard); ok && (rest == "" || blank(rest[0])) {
		return wildcard
	}
	return productToken(value)
}

// productToken returns the leading run of letters, digits, "_" and "-" of s,
// which cuts a version or a comment. RFC 9309 2.2.1 knows no digits, but names
// such as MJ12bot are in wide use.
func productToken(s string) string {
	for i := range len(s) {
		if c := s[i]; !alphanumeric(c) && c != '_' && c != '-' {
			return s[:i]
		}
	}
	return s
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func first(tokens []string) string {
	if len(tokens) == 0 {
		return ""
	}
	return tokens[0]
}
