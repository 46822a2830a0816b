package robots

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/temoto/robotstxt"

	"heed/policy"
)

// rounds is how often each side is measured, in turns; medians are compared.
func rounds() int {
	if testing.Short() {
		return 5
	}
	return 41
}

// measure returns the time of n calls, as many as fill a moment.
func measure(call func()) (took time.Duration, n int) {
	for n = 1; ; n *= 2 {
		start := time.Now()
		for range n {
			call()
		}
		if took = time.Since(start); took > time.Millisecond {
			return took, n
		}
	}
}

// A comparison is of two calls that are measured in turns. The ratio is the median
// of what each round gives: what else the machine does weighs on both sides of it.
type comparison struct {
	ours, theirs float64 // nanoseconds a call
	ratio        float64 // how many times longer theirs takes
}

// compare measures until the ratio is within bounds, a few times at most: a busy
// machine gets another chance.
func compare(ours, theirs func(), least, most float64) (c comparison) {
	ours() // makes ready what is made ready once
	theirs()
	for range 4 {
		if c = compareOnce(ours, theirs); least <= c.ratio && c.ratio <= most {
			break
		}
	}
	return c
}

func compareOnce(ours, theirs func()) comparison {
	var as, bs, ratios []float64
	for range rounds() {
		took, n := measure(ours)
		a := float64(took) / float64(n)
		took, n = measure(theirs)
		b := float64(took) / float64(n)
		as, bs, ratios = append(as, a), append(bs, b), append(ratios, b/a)
	}
	return comparison{median(as), median(bs), median(ratios)}
}

func median(all []float64) float64 {
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
		c := compare(ours, theirs, least, math.Inf(1))
		t.Logf("| %-44s | %12.0f | %12.0f | %8.1f | at least %4g |", name, c.ours, c.theirs, c.ratio, least)
		if c.ratio < least {
			t.Errorf("%s: %.1f times faster, want %g", name, c.ratio, least)
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
	}{
		{thirty, 40}, {fiveThousand, 1000}, {literals, 1000}, {prefixes, 80}, {elsewhere, 50}, {wildcards, 1000},
		{utf8, 10},
	} {
		robots, other := policy.Parse(c.f.body), parseTheirs(t, c.f.body)
		target := c.f.target()
		report("decide among "+c.f.name, c.least, func() { robots.Decide(tokens, target) }, func() { other.TestAgent(c.f.path, agent) })
	}
}

// A decision does not grow with the number of rules: five thousand cost about
// what thirty do.
func TestManyRulesCostWhatFewDo(t *testing.T) {
	for _, c := range []struct {
		format string
		most   float64 // and not 167 times, which they are
	}{{"Disallow: /articles/page-%d/", 2}, {"Disallow: /articles/page-%d.html$", 2}, {"Disallow: /*/page-%d/*.html$", 5}} {
		few, many := policy.Parse(rules(30, c.format)), policy.Parse(rules(5000, c.format))
		target := prefixes.target()
		took := compare(func() { few.Decide(tokens, target) }, func() { many.Decide(tokens, target) }, 0, c.most)
		t.Logf("%s: 30 rules %.0f ns, 5,000 rules %.0f ns, %.2f times", c.format, took.ours, took.theirs, took.ratio)
		if took.ratio > c.most {
			t.Errorf("%s: 5,000 rules take %.2f times as long as 30, want at most %g", c.format, took.ratio, c.most)
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
		took := compare(c.once, c.twice, 0, 2.3)
		t.Logf("%s: %.0f ns, %.0f ns, %.2f times", c.name, took.ours, took.theirs, took.ratio)
		if took.ratio > 2.3 {
			t.Errorf("%s: twice the length takes %.2f times as long, want at most 2.3", c.name, took.ratio)
		}
	}
}
