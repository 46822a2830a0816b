package policy_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"heed/policy"
)

const (
	referenceUnreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	referenceRaw        = referenceUnreserved + "/?:@!&'()+,;="
)

// units returns the canonical form of s, one raw octet or one escape a unit.
func units(s string) []string {
	var out []string
	for len(s) > 0 {
		octet, raw, n := s[0], referenceRaw, 1
		if s[0] == '%' && len(s) > 2 {
			if v, err := strconv.ParseUint(s[1:3], 16, 8); err == nil {
				octet, raw, n = byte(v), referenceUnreserved, 3
			}
		}
		if strings.IndexByte(raw, octet) >= 0 {
			out = append(out, string(rune(octet)))
		} else {
			out = append(out, fmt.Sprintf("%%%02X", octet))
		}
		s = s[n:]
	}
	return out
}

// inQuery is how a unit reads where raw and escaped are the same.
func inQuery(unit string) string {
	switch unit {
	case "%3A":
		return ":"
	case "%2F":
		return "/"
	}
	return unit
}

// referenceMatch is RFC 9309 2.2.2 and 2.2.3 as a table of which prefixes of the
// rule match which prefixes of the path: slow, and plain to see.
func referenceMatch(rule, path string) bool {
	rule, anchored := strings.CutSuffix(rule, "$")
	var pattern []string
	for i, piece := range strings.Split(rule, "*") {
		if i > 0 {
			pattern = append(pattern, "*")
		}
		pattern = append(pattern, units(piece)...)
	}
	if !anchored {
		pattern = append(pattern, "*")
	}
	path, query, found := strings.Cut(path, "?")
	target := strings.Join(units(path), "")
	seam := len(target)
	if found {
		target += "?"
	}
	for _, unit := range units(query) {
		target += inQuery(unit)
	}
	reached := make([]bool, len(target)+1)
	reached[0] = true
	for _, unit := range pattern {
		next := make([]bool, len(reached))
		for j := range reached {
			literal := unit
			if j > seam {
				literal = inQuery(unit)
			}
			switch {
			case unit == "*":
				next[j] = reached[j] || j > 0 && next[j-1]
			case reached[j] && strings.HasPrefix(target[j:], literal):
				next[j+len(literal)] = true
			}
		}
		reached = next
	}
	return reached[len(target)]
}

// TestMatchesReference draws rules and paths from the few words that make
// matching hard, which a fuzzer seldom joins.
func TestMatchesReference(t *testing.T) {
	random := rand.New(rand.NewPCG(9309, 1))
	words := []string{"/", "a", "b", "?", ":", "%2F", "%3A", "%", "%61", "$", "A"}
	draw := func(n int, words []string) string {
		var s strings.Builder
		for range random.IntN(n) {
			s.WriteString(words[random.IntN(len(words))])
		}
		return s.String()
	}
	matched := 0
	for range 20_000 {
		rule := "/" + draw(8, append(words, "*", "*", "*"))
		path := "/" + draw(12, append(words, "*"))
		want := referenceMatch(rule, path)
		if want {
			matched++
		}
		got := policy.Parse([]byte(star("Disallow: "+rule))).Decide(nil, policy.Target{Path: path})
		if got.Allowed() == want {
			t.Fatalf("rule %q, path %q: got %+v, want match %t", rule, path, got, want)
		}
	}
	if matched < 500 {
		t.Errorf("only %d of the cases match", matched)
	}
}
