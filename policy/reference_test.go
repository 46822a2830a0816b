package policy_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"heed/policy"
)

// This file is a second matcher: slow, and plain to see. It shares nothing with
// the package but the words of RFC 9309 and the table of profiles.

const (
	referenceUnreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	referenceRaw        = referenceUnreserved + "/?:@!&'()+,;="
)

// next parts s behind its first octet or escape.
func next(s string) (octet byte, escaped bool, rest string) {
	if s[0] == '%' && len(s) > 2 {
		if v, err := strconv.ParseUint(s[1:3], 16, 8); err == nil {
			return byte(v), true, s[3:]
		}
	}
	return s[0], false, s[1:]
}

// units returns s in the form of a profile, one octet or one escape a unit.
func units(p policy.Profile, s string) []string {
	var out []string
	for len(s) > 0 {
		octet, escaped, rest := next(s)
		unit := fmt.Sprintf("%%%02X", octet)
		switch p {
		case policy.RFC9309:
			if escaped && strings.IndexByte(referenceUnreserved, octet) >= 0 || !escaped && strings.IndexByte(referenceRaw, octet) >= 0 {
				unit = string(rune(octet))
			}
		case policy.Google:
			if !escaped && octet < utf8.RuneSelf {
				unit = string(rune(octet))
			}
		default:
			unit = string([]byte{octet})
		}
		out, s = append(out, unit), rest
	}
	if p == policy.Folded {
		return strings.Split(referenceFold(strings.Join(out, "")), "")
	}
	return out
}

func referenceFold(s string) string {
	var out strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			out.WriteByte(s[0])
		} else {
			out.WriteRune(unicode.ToLower(r))
		}
		s = s[size:]
	}
	return out.String()
}

// inQuery is how a unit reads where raw and escaped are the same.
func inQuery(p policy.Profile, unit string) string {
	if p == policy.RFC9309 {
		switch unit {
		case "%3A":
			return ":"
		case "%2F":
			return "/"
		}
	}
	return unit
}

// referenceTarget returns what patterns are compared with, in both spellings,
// and for each where its query begins.
func referenceTarget(p policy.Profile, target string) (targets []string, seams []int) {
	path, query, found := strings.Cut(target, "?")
	if p != policy.Google {
		path = strings.Join(units(p, path), "")
		var read strings.Builder
		for _, unit := range units(p, query) {
			read.WriteString(inQuery(p, unit))
		}
		query = read.String()
	}
	if found {
		query = "?" + query
	}
	for _, path := range []string{path, referenceResolve(path, p == policy.Google)} {
		targets, seams = append(targets, path+query), append(seams, len(path))
	}
	return targets, seams
}

// referenceResolve is RFC 3986 5.2.4.
func referenceResolve(path string, escapes bool) string {
	segments := strings.Split(path[1:], "/")
	var kept []string
	for i, segment := range segments {
		dots := segment
		if escapes {
			dots = strings.ReplaceAll(strings.ToLower(segment), "%2e", ".")
		}
		if dots != "." && dots != ".." {
			kept = append(kept, segment)
			continue
		}
		if dots == ".." && len(kept) > 0 {
			kept = kept[:len(kept)-1]
		}
		if i == len(segments)-1 {
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}

// starUnit is a unit that no text yields.
const starUnit = "any run of octets"

// referenceMatch is RFC 9309 2.2.2 and 2.2.3 as a table of which prefixes of the
// pattern match which prefixes of the target.
func referenceMatch(p policy.Profile, value, target string, seam int) bool {
	value, anchored := strings.CutSuffix(value, "$")
	var pattern []string
	for i, piece := range strings.Split(value, "*") {
		if i > 0 {
			pattern = append(pattern, starUnit)
		}
		pattern = append(pattern, units(p, piece)...)
	}
	if !anchored {
		pattern = append(pattern, starUnit)
	}
	reached := make([]bool, len(target)+1)
	reached[0] = true
	for _, unit := range pattern {
		then := make([]bool, len(reached))
		for j := range reached {
			literal := unit
			if j > seam {
				literal = inQuery(p, unit)
			}
			switch {
			case unit == starUnit:
				then[j] = reached[j] || j > 0 && then[j-1]
			case reached[j] && strings.HasPrefix(target[j:], literal):
				then[j+len(literal)] = true
			}
		}
		reached = then
	}
	return reached[len(target)]
}

// referenceRule is the path of a rule; the rules of a file begin in line 2.
type referenceRule struct {
	allow bool
	value string
}

func referenceFile(rules []referenceRule) string {
	text := "User-agent: *\n"
	for _, r := range rules {
		key := "Disallow: "
		if r.allow {
			key = "Allow: "
		}
		text += key + r.value + "\n"
	}
	return text
}

func referenceOctets(p policy.Profile, value string) int {
	if p == policy.Decoded || p == policy.Folded {
		return len(value)
	}
	literal, anchored := strings.CutSuffix(value, "$")
	n := strings.Count(literal, "*")
	if anchored {
		n++
	}
	for _, unit := range units(p, strings.ReplaceAll(literal, "*", "")) {
		n += len(unit)
	}
	return n
}

// referenceDecide returns the line that decides, 0 for none.
func referenceDecide(p policy.Profile, rules []referenceRule, target string, lenient bool) (allowed bool, line int) {
	targets, seams := referenceTarget(p, target)
	for i := range targets {
		best, octets := 0, -1
		allowed = true
		try := func(r referenceRule, value string, number int) {
			n := referenceOctets(p, value)
			if !referenceMatch(p, value, targets[i], seams[i]) || n < octets || n == octets && (allowed || !r.allow) {
				return
			}
			allowed, best, octets = r.allow, number, n
		}
		for j, r := range rules {
			value := r.value
			if lenient && !r.allow && value != "" && !strings.Contains(value, "://") && value[0] != '/' && value[0] != '*' {
				value = "/" + value
			}
			if !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "*") {
				continue
			}
			try(r, value, j+2)
			if k := strings.LastIndexByte(value, '/'); p == policy.Google && r.allow && k >= 0 && strings.HasPrefix(value[k:], "/index.htm") {
				try(r, value[:k+1]+"$", j+2)
			}
		}
		if i == 0 || !allowed {
			line = best
		}
		if !allowed {
			return false, line
		}
	}
	return true, line
}

// compareWithReference checks a decision under every profile.
func compareWithReference(t *testing.T, rules []referenceRule, path string) (matched int) {
	t.Helper()
	text := referenceFile(rules)
	robots := policy.Parse([]byte(text))
	target := policy.Target{Path: path}
	strict, named := true, policy.Profile("")
	for _, p := range policy.Profiles()[:4] {
		allowed, line := referenceDecide(p, rules, path, false)
		got := robots.DecideUnder(p, nil, target)
		if got.Allowed() != allowed || got.Line != line {
			t.Fatalf("%s: path %q under\n%q\ngot %+v\nwant allowed %t by line %d", p, path, text, got, allowed, line)
		}
		if line > 0 {
			matched++
		}
		if allowed, _ := referenceDecide(p, rules, path, true); !allowed && strict {
			strict, named = false, p
		}
	}
	if got := robots.DecideUnder(policy.Strictest, nil, target); got.Allowed() != strict || got.DisallowedBy != named {
		t.Fatalf("strictest: path %q under\n%q\ngot %+v\nwant allowed %t, disallowed by %q", path, text, got, strict, named)
	}
	return matched
}
