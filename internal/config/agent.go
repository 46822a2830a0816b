package config

import (
	"fmt"
	"strings"
)

var tokens = ruleOf("a list of one or more product tokens, such as examplebot or ExampleBot/1.0", func(list []string) string {
	if len(list) == 0 {
		return "empty"
	}
	for _, t := range list {
		if problem := badLine(t); problem != "" {
			return fmt.Sprintf("%q %s", t, problem)
		}
		if t == "*" {
			return `"*" is not a product token; it is always tried last`
		}
		if productToken(t) == "" {
			return fmt.Sprintf("%q does not begin with a product token", t)
		}
	}
	return ""
})

// productToken is what robots.txt groups are compared with: the leading letters,
// digits, _ and - of what stands before the first slash.
func productToken(configured string) string {
	name, _, _ := strings.Cut(configured, "/")
	if i := strings.IndexFunc(name, func(r rune) bool { return !isTokenRune(r) }); i >= 0 {
		return name[:i]
	}
	return name
}

func isTokenRune(r rune) bool {
	return isStrictTokenRune(r) || '0' <= r && r <= '9'
}

// isStrictTokenRune is the identifier of RFC 9309 2.2.
func isStrictTokenRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '_' || r == '-'
}

func tokenWarnings(list []string) []string {
	var warnings []string
	for _, t := range list {
		name, _, _ := strings.Cut(t, "/")
		if !strings.ContainsFunc(name, func(r rune) bool { return !isStrictTokenRune(r) }) {
			continue
		}
		warnings = append(warnings, fmt.Sprintf(
			"agent.tokens: %q holds characters that RFC 9309 2.2.1 does not allow (only a-z, A-Z, _ and -); %q is compared with robots.txt groups",
			t, productToken(t)))
	}
	return warnings
}
