package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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

// heapOf returns what one more of what make returns takes of the heap.
func heapOf[T any](n int, make func() T) float64 {
	kept := []T{make()}
	before := heap()
	for range n {
		kept = append(kept, make())
	}
	after := heap()
	runtime.KeepAlive(kept)
	return float64(int64(after)-int64(before)) / float64(n)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// parsed is a file that has been asked once, so that its rules are ready.
func parsed(body []byte) *policy.Robots {
	robots := policy.Parse(body)
	robots.Decide([]string{"bot"}, policy.Target{Path: "/x"})
	return robots
}

// A parsed file takes at most two and a half times its text and 512 octets.
func TestMemory(t *testing.T) {
	files, err := filepath.Glob("testdata/corpus/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("corpus: %v, %d files", err, len(files))
	}
	bodies := map[string][]byte{}
	for _, file := range files {
		if bodies[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	for name, body := range costFiles {
		bodies[name] = body
	}
	for name, body := range bodies {
		n := max(3, min(100, 1<<18/(len(body)+1)))
		if got, most := heapOf(n, func() *policy.Robots { return parsed(body) }), 2.5*float64(len(body))+512; got > most {
			t.Errorf("%s: %d octets of text take %.0f, want at most %.0f", name, len(body), got, most)
		}
	}
}

func BenchmarkMemory(b *testing.B) {
	for name, body := range costFiles {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				parsed(body)
			}
			b.ReportMetric(heapOf(5, func() *policy.Robots { return parsed(body) })/float64(len(body)), "octets/octet")
		})
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
