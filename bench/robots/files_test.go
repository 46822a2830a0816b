// Package robots compares heed's robots.txt engine with github.com/temoto/robotstxt,
// in the same run on the same files.
package robots

import (
	"fmt"
	"strings"

	"heed/policy"
)

// agent is who asks, in all comparisons.
const agent = "examplebot"

var tokens = []string{agent}

// A file is a robots.txt and a path to ask it for.
type file struct {
	name string
	body []byte
	path string
}

func (f file) target() policy.Target {
	return policy.Target{Origin: policy.Origin{Scheme: "https", Host: "h.example", Port: 443}, Path: f.path}
}

// mixed are rules as sites write them: in a public collection of 4,231 files
// half have a star somewhere and a seventh an anchor.
var mixed = []string{
	"Disallow: /cgi-bin/%d/", "Disallow: /*?sort=%d", "Allow: /media/%d/*.css$", "Disallow: /search/%d",
	"Disallow: /*/print/%d", "Disallow: /tag/%d/feed/$", "Disallow: /wp-admin/%d", "Allow: /wp-admin/admin-ajax-%d.php",
	"Disallow: /private/%d/*.pdf$", "Disallow: /checkout/%d/",
}

// rules makes a file of n rules out of formats, each with a number. The numbers
// are spread, so that neighbours neither are sorted nor look alike.
func rules(n int, formats ...string) []byte {
	var b strings.Builder
	b.WriteString("User-agent: Otherbot\nDisallow: /\n\nUser-agent: *\n")
	for i := range n {
		fmt.Fprintf(&b, formats[i%len(formats)]+"\n", i*7919%100_003)
	}
	b.WriteString("Sitemap: https://h.example/sitemap.xml\n")
	return []byte(b.String())
}

var (
	small = file{"3 KB", rules(115, mixed...), "/articles/2024/page.html?id=7"}
	large = file{"500 KB", rules(17_500, mixed...), "/articles/2024/page.html?id=7"}

	thirty = file{"30 rules", rules(30, mixed...), "/private/63352/2024/report.html?id=7"}

	// Five thousand rules, by shape. What the peer takes for them differs by a
	// factor of a hundred: see the README.
	fiveThousand = file{"5,000 rules", rules(5000, mixed...), "/private/63352/2024/report.html?id=7"}
	literals     = file{"5,000 literals, /x$", rules(5000, "Disallow: /articles/page-%d.html$"), "/articles/page-7919.html?id=7"}
	prefixes     = file{"5,000 literals, /x", rules(5000, "Disallow: /articles/page-%d/"), "/articles/page-7919/x.html?id=7"}
	elsewhere    = file{"5,000 literals, /x, none near", prefixes.body, "/about/page-7919/x.html?id=7"}
	wildcards    = file{"5,000 wildcards", rules(5000, "Disallow: /*/page-%d/*.html$"), "/articles/page-7919/x.html?id=7"}
	utf8         = file{"5,000 literals, /ツ", rules(5000, "Disallow: /ツール/%d/"), "/%E3%83%84%E3%83%BC%E3%83%AB/7919/x.html"}
)

// stars is a rule of n stars, and letters a path of n letters that it almost
// matches: the pattern on which a backtracking matcher ends up in the next week.
func stars(n int) []byte {
	return []byte("User-agent: *\nDisallow: /" + strings.Repeat("*a", n) + "*b\n")
}

func letters(n int) string { return "/" + strings.Repeat("a", n) }
