package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"heed/fetch"
	"heed/policy"
	"heed/proxy"
)

// rulesOf answers every robots.txt with the same thirty rules.
type rulesOf struct{}

func (rulesOf) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"text/plain"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(thirtyRules())),
	}, nil
}

// manyOrigins is how many origins heed shall know at the price of one.
const manyOrigins = 10_000

// decisions is a Decider that knows the robots.txt of n origins, and manyOrigins
// targets at them, in any order. Each target has octets of its own, as those of
// requests have.
func decisions(t testing.TB, n int) (proxy.Decider, []policy.Target) {
	t.Helper()
	store := fetch.New(fetch.Options{Transport: rulesOf{}})
	t.Cleanup(store.Close)
	d := proxy.Decider{Source: store, Settings: policy.Settings{Tokens: []string{"heed"}, OnUnavailable: policy.Allow}}
	targets := make([]policy.Target, manyOrigins)
	for at, i := range rand.New(rand.NewPCG(1, 2)).Perm(manyOrigins) {
		o := policy.Origin{Scheme: "http", Host: fmt.Sprintf("h%d.example", i%n), Port: 80}
		targets[at] = policy.Target{Origin: o, Path: "/articles/2024/page.html?id=7"}
	}
	for _, target := range targets {
		if !decide(d, target) {
			t.Fatalf("%s is not allowed", target)
		}
	}
	return d, targets
}

func decide(d proxy.Decider, target policy.Target) bool {
	decision, access, err := d.Decide(context.Background(), target)
	return err == nil && access.Robots != nil && decision.Allowed()
}

// BenchmarkDecision is a decision with the lookup of the origin's robots.txt.
func BenchmarkDecision(b *testing.B) {
	for _, n := range []int{1, manyOrigins} {
		b.Run(fmt.Sprintf("%d origins", n), func(b *testing.B) {
			d, targets := decisions(b, n)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if !decide(d, targets[i%manyOrigins]) {
					b.Fatal("not allowed")
				}
			}
		})
	}
}

func TestDecisionAllocatesNothing(t *testing.T) {
	d, targets := decisions(t, 1000)
	i := 0
	got := testing.AllocsPerRun(1000, func() {
		if !decide(d, targets[i%len(targets)]) {
			t.Fatal("not allowed")
		}
		i++
	})
	if got > 0 && !raceEnabled {
		t.Errorf("%v allocations a decision, want none", got)
	}
}
