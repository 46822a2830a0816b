package policy_test

import (
	"fmt"
	"sync"
	"testing"

	"heed/policy"
)

// One file is shared between all that ask, under all profiles, while its rules
// are being made ready.
func TestSharedBetweenGoroutines(t *testing.T) {
	body := []byte("User-agent: a\nDisallow: /a\nUser-agent: b\nDisallow: /B\nDisallow: http://h.example/c\nUser-agent: *\nDisallow: /*x\n")
	robots := policy.Parse(body)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for j := range 50 {
				p := policy.Profiles()[(i+j)%5]
				tokens := []string{fmt.Sprintf("t%d", (i*j)%90), string(rune('a' + j%3))}
				target := policy.Target{Origin: policy.Origin{Scheme: "http", Host: "h.example", Port: 80}, Path: []string{"/a", "/b", "/c", "/ax"}[j%4]}
				got := robots.DecideUnder(p, tokens, target)
				if want := policy.Parse(body).DecideUnder(p, tokens, target); got != want {
					t.Errorf("%s, %q asks for %s: got %+v, want %+v", p, tokens, target.Path, got, want)
				}
			}
		})
	}
	wg.Wait()
}

// What is kept for token lists is bounded, and belongs to nobody else.
func TestTokenListsAreForgotten(t *testing.T) {
	robots := policy.Parse(ruleFile(100, "Disallow: /%d"))
	used := heapOf(1, func() int {
		for i := range 20_000 {
			robots.Decide([]string{fmt.Sprintf("bot%d", i)}, policy.Target{Path: "/x"})
		}
		return 0
	})
	if used > 100_000 {
		t.Errorf("20,000 token lists leave %.0f octets behind", used)
	}
	tokens := []string{"a"}
	robots = policy.Parse([]byte("User-agent: a\nDisallow: /\n"))
	before := robots.Decide(tokens, policy.Target{Path: "/"})
	tokens[0] = "b"
	if after := robots.Decide(tokens, policy.Target{Path: "/"}); before.Allowed() || !after.Allowed() || after.Agent != "b" {
		t.Errorf("changed tokens: %+v, then %+v", before, after)
	}
}
