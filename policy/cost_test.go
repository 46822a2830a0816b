package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"heed/policy"
)

// ruleFile is a robots.txt of n rules, each made by format of a number.
func ruleFile(n int, format string) []byte {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i*7919%100_003)
	}
	return []byte(b.String())
}

var costFiles = map[string][]byte{
	"3 KB":             ruleFile(110, "Disallow: /dir/page%d/"),
	"500 KB":           ruleFile(17_000, "Disallow: /directory/page%d/"),
	"wildcards":        ruleFile(5_000, "Disallow: /*/page%d/*.html$"),
	"escapes":          ruleFile(5_000, "Disallow: /%%E3%%83%%84/%d"),
	"stars at the end": ruleFile(5_000, "Allow: /dir%d/*"),
	"short":            ruleFile(17_000, "Allow:/%x"),
}

func TestParseAllocations(t *testing.T) {
	for name, most := range map[string]float64{"3 KB": 50, "500 KB": 100} {
		body := costFiles[name]
		if got := testing.AllocsPerRun(5, func() { policy.Parse(body) }); got > most {
			t.Errorf("parsing %s: %.0f allocations, want at most %.0f", name, got, most)
		}
		// With the rules made ready, which the first decision does.
		if got := testing.AllocsPerRun(5, func() { policy.Parse(body).Decide(nil, policy.Target{Path: "/x"}) }); got > most {
			t.Errorf("parsing %s and deciding: %.0f allocations, want at most %.0f", name, got, most)
		}
	}
}

func TestDecisionsDoNotAllocate(t *testing.T) {
	tokens := []string{"news/1.0", "bot"}
	for name, body := range costFiles {
		robots := policy.Parse(body)
		for _, path := range []string{
			"/dir/page7919/", "/a/page7919/x.html", "/%E3%83%84/7919?a=%3A", "/a%2f/../b/%7e?q=%2F", "/ツ/ABC/*$%zz", "/robots.txt", "/",
			"/" + strings.Repeat("%7e", 95),
		} {
			target := policy.Target{Path: path, Origin: policy.Origin{Scheme: "http", Host: "h.example", Port: 80}}
			for _, p := range policy.Profiles() {
				if got := testing.AllocsPerRun(20, func() { robots.DecideUnder(p, tokens, target) }); got != 0 {
					t.Errorf("%s, %s, %q: %.0f allocations a decision", name, p, path, got)
				}
			}
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	for name, body := range costFiles {
		robots := policy.Parse(body)
		for _, p := range policy.Profiles() {
			b.Run(name+"/"+string(p), func(b *testing.B) {
				b.ReportAllocs()
				target := policy.Target{Path: "/directory/page7919/x.html?a=b"}
				for b.Loop() {
					robots.DecideUnder(p, nil, target)
				}
			})
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for name, body := range costFiles {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				policy.Parse(body)
			}
		})
	}
}
