package policy_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"heed/policy"
)

// TestMatchingIsLinear compares the time for a target with that for one eight
// times as long, under the pattern that makes a backtracking matcher explode.
// Were it only quadratic, the ratio would be 64.
func TestMatchingIsLinear(t *testing.T) {
	const size, factor = 1 << 15, 8
	tests := []struct{ name, rule, unit string }{
		{"stars", "/" + strings.Repeat("*a", 2000) + "*b", "a"},
		{"anchored", "/" + strings.Repeat("*a", 2000) + "*b$", "a"},
		{"query", "/" + strings.Repeat("*%2Fa", 2000) + "*?b", "/a"},
		{"long pieces", "/" + strings.Repeat("*"+strings.Repeat("a", 100), 20) + "*" + strings.Repeat("a", 100) + "b", "a"},
	}
	for _, tt := range tests {
		robots := policy.Parse([]byte(star("Disallow: " + tt.rule)))
		short := fastest(t, robots, "/?"+strings.Repeat(tt.unit, size))
		long := fastest(t, robots, "/?"+strings.Repeat(tt.unit, factor*size))
		if ratio := float64(long) / float64(short); ratio > 4*factor {
			t.Errorf("%s: %d times the target took %.0f times the time (%v, %v)", tt.name, factor, ratio, short, long)
		}
	}
}

// fastest returns the least of several measurements: the one the machine's
// other work disturbed least.
func fastest(t *testing.T, robots *policy.Robots, path string, tokens ...string) time.Duration {
	t.Helper()
	var least time.Duration
	for range 7 {
		start := time.Now()
		if d := robots.Decide(tokens, policy.Target{Path: path}); !d.Allowed() {
			t.Fatalf("got %+v, want a target that no rule matches", d)
		}
		if took := time.Since(start); least == 0 || took < least {
			least = took
		}
	}
	return least
}

// A file whose many agent lines share many rules, and whose lines repeat one
// agent, must cost the sum of its lines and not their product.
func TestSharedRulesAreNotCopied(t *testing.T) {
	const lines = 5_000
	var body strings.Builder
	for i := range lines {
		body.WriteString("User-agent: a" + strconv.Itoa(i) + "\nUser-agent: same\n")
	}
	for i := range lines {
		body.WriteString("Disallow: /" + strconv.Itoa(i) + "\n")
	}
	robots := policy.Parse([]byte(body.String()))
	for _, agent := range []string{"a0", "a4999", "same"} {
		d := robots.Decide([]string{agent}, policy.Target{Path: "/4999"})
		if d.Line != 3*lines {
			t.Errorf("agent %s: got %+v, want line %d", agent, d, 3*lines)
		}
	}
	// Repeating an agent line repeats no rule.
	once, repeated := fastest(t, robots, "/x", "a0"), fastest(t, robots, "/x", "same")
	if repeated > 100*once {
		t.Errorf("%d equal agent lines took %v, one %v, want the same", lines, repeated, once)
	}
}

// When the pattern or the target doubles, the time does no more than that, but
// for what measuring adds: at most 2.3 times.
func TestDoubling(t *testing.T) {
	stars := func(n int) string { return "/" + strings.Repeat("*a", n) + "*b" }
	letters := func(n int) string { return "/" + strings.Repeat("a", n) }
	tests := []struct {
		name                     string
		rule, path, rule2, path2 string
	}{
		{"/*a*a*a*a*a*b, target", stars(5), letters(32_000), stars(5), letters(64_000)},
		{"600 stars, target", stars(600), letters(4000), stars(600), letters(8000)},
		{"600 stars, pattern", stars(600), letters(4000), stars(1200), letters(4000)},
	}
	for _, tt := range tests {
		for _, p := range policy.Profiles()[:4] {
			ratio := 0.0
			for range 5 { // a noisy machine gets another chance
				once := repeatedly(p, tt.rule, tt.path)
				if ratio = float64(repeatedly(p, tt.rule2, tt.path2)) / float64(once); ratio <= 2.3 {
					break
				}
			}
			if ratio > 2.3 {
				t.Errorf("%s, %s: twice the length takes %.2f times as long", tt.name, p, ratio)
			}
		}
	}
}

func repeatedly(p policy.Profile, rule, path string) time.Duration {
	robots := policy.Parse([]byte(star("Disallow: " + rule)))
	least := time.Hour
	for range 9 {
		start := time.Now()
		for range 20 {
			robots.DecideUnder(p, nil, policy.Target{Path: path})
		}
		least = min(least, time.Since(start))
	}
	return least
}
