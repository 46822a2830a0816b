package bench

import (
	"fmt"
	"strings"
)

// file is a robots.txt of n rules, each made by format of its number.
func file(n int, format string) []byte {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range n {
		verb := "Disallow: "
		if i%4 == 3 {
			verb = "Allow: "
		}
		// Spread, so that the rules of a file neither are sorted nor look alike.
		fmt.Fprintf(&b, verb+format+"\n", i*7919%100_003, i)
	}
	return []byte(b.String())
}
