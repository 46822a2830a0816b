package robots

import (
	"testing"

	"github.com/temoto/robotstxt"

	"heed/policy"
)

func BenchmarkParse(b *testing.B) {
	for _, f := range []file{small, large} {
		b.Run(f.name+"/heed", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				policy.Parse(f.body)
			}
		})
		b.Run(f.name+"/heed and decide", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				policy.Parse(f.body).Decide(tokens, f.target())
			}
		})
		b.Run(f.name+"/temoto", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := robotstxt.FromBytes(f.body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	files := []file{thirty, fiveThousand, literals, prefixes, elsewhere, wildcards, {"5 stars, 1,000 letters", stars(5), letters(1000)}}
	for _, f := range files {
		robots := policy.Parse(f.body)
		other, err := robotstxt.FromBytes(f.body)
		if err != nil {
			b.Fatal(err)
		}
		if got, want := robots.Decide(tokens, f.target()).Allowed(), other.TestAgent(f.path, agent); got != want {
			b.Fatalf("%s: heed says %t, temoto %t", f.name, got, want)
		}
		b.Run(f.name+"/heed", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				robots.Decide(tokens, f.target())
			}
		})
		b.Run(f.name+"/temoto", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				other.TestAgent(f.path, agent)
			}
		})
	}
}
