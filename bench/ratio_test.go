package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/temoto/robotstxt"

	"heed/policy"
)

// rounds is how often each side is measured, in turns; the medians are compared.
func rounds() int {
	if testing.Short() {
		return 3
	}
	return 11
}

// measure returns the time of one call, out of as many as fill a moment.
func measure(call func()) time.Duration {
	call()
	n := 1
	for {
		start := time.Now()
		for range n {
			call()
		}
		if took := time.Since(start); took > 4*time.Millisecond || n > 1<<20 {
			return max(took/time.Duration(n), 1)
		}
		n *= 2
	}
}

// compare returns the median times of two calls that are measured in turns.
func compare(ours, theirs func()) (a, b time.Duration) {
	var as, bs []time.Duration
	for range rounds() {
		as, bs = append(as, measure(ours)), append(bs, measure(theirs))
	}
	return median(as), median(bs)
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func parseTheirs(t *testing.T, body []byte) *robotstxt.RobotsData {
	t.Helper()
	r, err := robotstxt.FromBytes(body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRatio asserts how many times faster heed is. With few rounds, as on a busy
// machine, half of it will do.
func TestRatio(t *testing.T) {
	report := func(name string, least float64, ours, theirs func()) {
		if testing.Short() {
			least /= 2
		}
		a, b := compare(ours, theirs)
		ratio := float64(b) / float64(a)
		t.Logf("%-34s heed %10s   temoto %10s   %8.1f times faster (at least %g)", name, a, b, ratio, least)
		if ratio < least {
			t.Errorf("%s: %.1f times faster, want %g", name, ratio, least)
		}
	}
	for _, c := range []struct {
		f                file
		parse, withRules float64
	}{{small, 8, 4}, {large, 12, 6}} {
		theirs := func() { parseTheirs(t, c.f.body) }
		report("parse "+c.f.name, c.parse, func() { policy.Parse(c.f.body) }, theirs)
		report("parse and decide "+c.f.name, c.withRules, func() { policy.Parse(c.f.body).Decide(tokens, c.f.target()) }, theirs)
	}
	for _, c := range []struct {
		f     file
		least float64
	}{{thirty, 40}, {literals, 1000}, {prefixes, 60}, {wildcards, 20}} {
		robots, other := policy.Parse(c.f.body), parseTheirs(t, c.f.body)
		target := c.f.target()
		report("decide among "+c.f.name, c.least, func() { robots.Decide(tokens, target) }, func() { other.TestAgent(c.f.path, agent) })
	}
}

// A decision does not grow with the number of rules: five thousand cost about
// what thirty do.
func TestManyRulesCostWhatFewDo(t *testing.T) {
	for _, format := range []string{"Disallow: /articles/page-%d/", "Disallow: /*/page-%d/*.html$"} {
		few, many := policy.Parse(rules(30, format)), policy.Parse(rules(5000, format))
		target := prefixes.target()
		a, b := compare(func() { few.Decide(tokens, target) }, func() { many.Decide(tokens, target) })
		t.Logf("%s: 30 rules %s, 5,000 rules %s", format, a, b)
		if b > 6*a { // and not 167 times, which they are
			t.Errorf("%s: 30 rules take %s, 5,000 take %s", format, a, b)
		}
	}
}

// Wildcards are matched in linear time: twice the stars or twice the letters take
// twice the time.
func TestStarsAreLinear(t *testing.T) {
	ask := func(n, m int) func() {
		robots, target := policy.Parse(stars(n)), policy.Target{Path: letters(m)}
		return func() { robots.Decide(tokens, target) }
	}
	for _, c := range []struct {
		name        string
		once, twice func()
	}{
		{"5 stars, 4,000 and 8,000 letters", ask(5, 4000), ask(5, 8000)},
		{"600 stars, 4,000 and 8,000 letters", ask(600, 4000), ask(600, 8000)},
		{"600 and 1,200 stars, 4,000 letters", ask(600, 4000), ask(1200, 4000)},
	} {
		a, b := compare(c.once, c.twice)
		t.Logf("%s: %s, %s, %.2f times", c.name, a, b, float64(b)/float64(a))
		if float64(b) > 2.3*float64(a) {
			t.Errorf("%s: %s and %s, want at most 2.3 times", c.name, a, b)
		}
	}
}
