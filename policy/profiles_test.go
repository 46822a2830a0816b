package policy_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"heed/policy"
)

// side is what one profile says of a row: the octets of the rule that disallows
// or, negative, of the one that allows; 0 where nothing matches.
type side map[policy.Profile]int

func all(n int) side { return side{"rfc9309": n, "google": n, "folded": n, "decoded": n} }

func each(rfc, google, folded, decoded int) side {
	return side{"rfc9309": rfc, "google": google, "folded": folded, "decoded": decoded}
}

// profileTable is the profiles side by side. In rows 18 and 19 all profiles
// judge a path with dot segments in both spellings.
var profileTable = []struct {
	rules []string
	path  string
	want  side
}{
	1:  {[]string{"Disallow: /Private"}, "/private/x", each(0, 0, 8, 0)},
	2:  {[]string{"Disallow: /private"}, "/private/x", all(8)},
	3:  {[]string{"Disallow: /a/b"}, "/a%2Fb", each(0, 0, 4, 4)},
	4:  {[]string{"Disallow: /a%2Fb"}, "/a%2Fb", all(6)},
	5:  {[]string{"Disallow: /a%2fb"}, "/a%2Fb", all(6)},
	6:  {[]string{"Disallow: /a%2Fb"}, "/a/b", each(0, 0, 6, 6)},
	7:  {[]string{"Disallow: /%62%61%7A"}, "/baz", each(4, 0, 10, 10)},
	8:  {[]string{"Disallow: /baz"}, "/%62%61%7A", each(4, 0, 4, 4)},
	9:  {[]string{"Disallow: /~joe"}, "/%7Ejoe", each(5, 0, 5, 5)},
	10: {[]string{"Disallow: /ツ"}, "/%E3%83%84", each(10, 10, 4, 4)},
	11: {[]string{"Disallow: /%E3%83%84"}, "/ツ", each(10, 0, 10, 10)},
	12: {[]string{"Disallow: /a-%2A.html"}, "/a-*.html", each(11, 0, 11, 11)},
	13: {[]string{"Disallow: /a-%2A.html"}, "/a-foo.html", all(0)},
	14: {[]string{"Disallow: /a-%2A.html"}, "/a-%2A.html", all(11)},
	15: {[]string{"Disallow: /foo-%24"}, "/foo-$", each(8, 0, 8, 8)},
	16: {[]string{"Disallow: /foo-%24"}, "/foo-", all(0)},
	17: {[]string{"Disallow: /a$b"}, "/a$bc", each(6, 4, 4, 4)},
	18: {[]string{"Disallow: /b"}, "/a/../b", all(2)},
	19: {[]string{"Disallow: /b"}, "/a/%2e%2e/b", all(2)},
	20: {[]string{"Disallow: /a/../b"}, "/b", all(0)},
	21: {[]string{"Disallow: /x"}, "/x#frag", all(2)},
	22: {[]string{"Disallow: /x$"}, "/x#frag", all(3)},
	23: {[]string{"Disallow: /bbb", "Allow: /%62%62"}, "/bbb", each(4, 4, -7, -7)},
	24: {[]string{"Disallow: /%62%62%62", "Allow: /bbbb"}, "/bbbb", each(-5, -5, 10, 10)},
	25: {[]string{"Disallow: /*******", "Allow: /ツ"}, "/%E3%83%84", each(-10, -10, 8, 8)},
	26: {[]string{"Disallow: /q?u=https://z"}, "/q?u=https%3A%2F%2Fz", each(14, 0, 14, 14)},
	27: {[]string{"Disallow: /a b"}, "/a%20b", each(6, 0, 4, 4)},
	28: {[]string{"Disallow: /a%20b"}, "/a%20b", all(6)},
	29: {[]string{"Disallow: /100%25"}, "/100%", each(7, 0, 7, 7)},
	30: {[]string{"Disallow: /"}, "/robots.txt", each(0, 1, 0, 0)},
	31: {[]string{"Disallow: /d", "Allow: /d/index.html"}, "/d/", each(2, -4, 2, 2)},
}

func TestProfilesSideBySide(t *testing.T) {
	for i, row := range profileTable[1:] {
		robots := policy.Parse([]byte(star(row.rules...)))
		target := target(t, "http://h.example"+row.path)
		var named policy.Profile
		for _, p := range policy.Profiles()[:4] {
			x := robots.Explain(p, []string{"bot"}, target)
			got := 0
			if x.Winner != nil {
				got = x.Winner.Octets
			}
			if x.Allowed() {
				got = -got
			}
			if got != row.want[p] || x.Decision != robots.DecideUnder(p, []string{"bot"}, target) {
				t.Errorf("row %d, %s: %q asks for %q: got %d (%+v), want %d", i+1, p, row.rules, row.path, got, x, row.want[p])
			}
			if named == "" && row.want[p] > 0 && i+1 != 30 {
				named = p
			}
		}
		if named == "" || row.want[policy.RFC9309] > 0 {
			continue
		}
		d := robots.DecideUnder(policy.Strictest, []string{"bot"}, target)
		if d.Allowed() || row.want[d.DisallowedBy] <= 0 || d.Profile != policy.Strictest {
			t.Errorf("row %d, strictest: got %+v, want disallow by %s", i+1, d, named)
		}
	}
}

func TestStrictestReadsLeniently(t *testing.T) {
	tests := []struct {
		name, rule, url string
		want            policy.Profile
	}{
		{"path without slash", "Disallow: private", "http://h.example/private/x", policy.RFC9309},
		{"path without slash, in another case", "Disallow: private", "http://h.example/Private", policy.Folded},
		{"full URL of the origin", "Disallow: HTTP://H.example:80/x", "http://h.example/x", policy.RFC9309},
		{"full URL without a path", "Disallow: http://h.example", "http://h.example/x", policy.RFC9309},
		{"full URL with a pattern", "Disallow: http://h.example/*.gif$", "http://h.example/a.gif", policy.RFC9309},
		{"full URL of another host", "Disallow: http://other.example/", "http://h.example/", ""},
		{"full URL of another scheme", "Disallow: https://h.example/", "http://h.example/", ""},
		{"full URL of another port", "Disallow: http://h.example:8080/", "http://h.example/", ""},
		{"URL that is none", "Disallow: ftp://h.example/", "http://h.example/", ""},
		{"empty", "Disallow:", "http://h.example/", ""},
		{"allow is not widened", "Disallow: /\nAllow: private", "http://h.example/private", policy.RFC9309},
		{"suffix of a key that Google reads", "Disallowed: /x", "http://h.example/x", policy.Google},
		{"robots.txt itself", "Disallow: /", "http://h.example/robots.txt", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			robots := policy.Parse([]byte(star(tt.rule)))
			target := target(t, tt.url)
			d := robots.DecideUnder(policy.Strictest, []string{"bot"}, target)
			if d.DisallowedBy != tt.want || d.Allowed() != (tt.want == "") {
				t.Errorf("%q asks for %s: got %+v, want disallowed by %q", tt.rule, tt.url, d, tt.want)
			}
			// The same file rules another origin, and is asked again.
			other := target
			other.Origin.Host = "elsewhere.example"
			robots.DecideUnder(policy.Strictest, []string{"bot"}, other)
			if again := robots.DecideUnder(policy.Strictest, []string{"bot"}, target); again != d {
				t.Errorf("asked again: got %+v, want %+v", again, d)
			}
		})
	}
}

func TestUnknownProfileDisallows(t *testing.T) {
	robots := policy.Parse(nil)
	target := policy.Target{Path: "/"}
	if d := robots.DecideUnder("rfc9308", nil, target); d.Allowed() || d.Reason != policy.ReasonInternal {
		t.Errorf("got %+v, want disallow", d)
	}
	s := policy.Settings{Profile: "Google"}
	access := policy.Access{Result: policy.Successful, Robots: robots}
	if d := s.Decide(&access, target); d.Allowed() {
		t.Errorf("settings: got %+v, want disallow", d)
	}
	if d := s.Unrestricted(&access); d.Allowed() {
		t.Errorf("tunnel: got %+v, want disallow", d)
	}
}

// Under every profile robots.txt itself is allowed before it is asked, and a
// tunnel is harmless only where the profile disallows nothing.
func TestSettingsProfile(t *testing.T) {
	tests := map[string]map[policy.Profile]bool{ // what each makes of a tunnel
		"Disallow: private":               {"rfc9309": true, "decoded": true, "folded": true, "google": true, "strictest": false},
		"Disallowed: /":                   {"rfc9309": true, "decoded": true, "folded": true, "google": false, "strictest": false},
		"Disallow: /":                     {"rfc9309": false, "decoded": false, "folded": false, "google": false, "strictest": false},
		"Allow: /":                        {"rfc9309": true, "decoded": true, "folded": true, "google": true, "strictest": true},
		"Disallow: http://h.example/":     {"rfc9309": true, "decoded": true, "folded": true, "google": true, "strictest": false},
		"Disallow: http://other.example/": {"rfc9309": true, "decoded": true, "folded": true, "google": true, "strictest": true},
	}
	for rule, want := range tests {
		access := policy.Access{Result: policy.Successful, Robots: policy.Parse([]byte(star(rule))), URL: "http://h.example/robots.txt"}
		for _, p := range policy.Profiles() {
			s := policy.Settings{Profile: p, Tokens: []string{"bot"}}
			if d := s.Unrestricted(&access); d.Allowed() != want[p] {
				t.Errorf("%s: tunnel under %q: got %+v, want allow %t", p, rule, d, want[p])
			}
			if d := s.Decide(&access, policy.Target{Path: "/robots.txt"}); d.Reason != policy.ReasonRobotsTXT {
				t.Errorf("%s: robots.txt under %q: got %+v", p, rule, d)
			}
		}
	}
}

// Google's own readings of lines, as its published parser has them.
func TestGoogleLines(t *testing.T) {
	long := strings.Repeat("a", 16_663-len("Disallow: /"))
	tests := []struct {
		robots, agent, path string
		want                int
	}{
		{star("Disallowed: /x"), "bot", "/x", 2},
		{star("disallow-all: /x"), "bot", "/x", 2},
		{star("Disallow: /", "Allowance: /x"), "bot", "/x", -3},
		{"User-agents: bot\nDisallow: /x\n", "bot", "/x", 2},
		{"useragent: bot\nDissallow: /x\n", "bot", "/x", 2},
		{"user agent bot\nDisallow: /x\n", "bot", "/x", 0},
		{"User-agent bot\nDisallow /x\n", "bot", "/x", 2},
		{star("Disallow /x y"), "bot", "/x", 0},
		{star("Disallow /x:y"), "bot", "/x:y", 0},
		{"User-agent: MJ12bot\nDisallow: /\n", "MJ12bot", "/", 2},
		{"User-agent: MJ12bot\nDisallow: /\n", "MJ", "/", 2},
		{"User-agent: MJ12bot\nDisallow: /\n", "MJbot", "/", 0},
		{"User-agent: 12bot\nDisallow: /\n", "12bot", "/", 0},
		{star("Disallow: /" + long), "bot", "/" + long, 2},
		{star("Disallow: /" + long + "b"), "bot", "/" + long + "c", 2},
		{star("Disallow: /a\x00b"), "bot", "/ac", 2},
		{star("Disallow: /a\x00b", "Disallow: /c"), "bot", "/c", 3},
		{star("Disallow: /", "Allow: /d/index.htmlx"), "bot", "/d/", -3},
		{star("Disallow: /", "Allow: /d/index.html"), "bot", "/d/x", 2},
		{star("Disallow: /", "Allow: /index.htm"), "bot", "/", -3},
		{star("Disallow: /", "Allow: /*/index.html"), "bot", "/d/", -3},
		{star("Disallow: /d/index.html"), "bot", "/d/", 0},
		{star("Disallow: /"), "bot", "/robots.txt", 2},
		{star("Disallow: /a%3cb"), "bot", "/a%3cb", 0},
		{star("Disallow: /a%3cb"), "bot", "/a%3Cb", 2},
		{star("Disallow: /a*"), "bot", "/a*b", 2},
	}
	for _, tt := range tests {
		d := policy.Parse([]byte(tt.robots)).DecideUnder(policy.Google, []string{tt.agent}, policy.Target{Path: tt.path})
		got := d.Line
		if d.Allowed() {
			got = -got
		}
		if got != tt.want {
			t.Errorf("%s asks for %.40q under %.80q: got line %d (%+v), want %d", tt.agent, tt.path, tt.robots, got, d.Verdict, tt.want)
		}
	}
}

// TestMatchesReference draws rules and paths from the few words that make
// matching hard, which a fuzzer seldom joins, under every profile.
func TestMatchesReference(t *testing.T) {
	random := rand.New(rand.NewPCG(9309, 1))
	words := []string{"/", "a", "b", "?", ":", "%2F", "%3A", "%", "%61", "$", "A", "%24", "%2a", "é", "%C3%89", " ", "/.", "/..", "%2e", "/index.html"}
	draw := func(n int, words []string) string {
		var s strings.Builder
		for range random.IntN(n) {
			s.WriteString(words[random.IntN(len(words))])
		}
		return s.String()
	}
	patterns := append(words, "*", "*", "*", "*")
	matched := 0
	for range 3_000 {
		rules := make([]referenceRule, 1+random.IntN(4))
		for i := range rules {
			rules[i] = referenceRule{random.IntN(2) == 0, strings.Trim("/"+draw(7, patterns), " ")}
			if random.IntN(8) == 0 {
				rules[i].value = strings.TrimLeft(rules[i].value, "/ ")
			}
		}
		matched += compareWithReference(t, rules, "/"+draw(10, append(words, "*")))
	}
	if matched < 1200 {
		t.Errorf("only %d of the cases match", matched)
	}
}

// A file with many rules answers through its index what few rules answer.
func TestIndexMatchesReference(t *testing.T) {
	random := rand.New(rand.NewPCG(9309, 2))
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	segment := func() string { return "/" + pick("a", "ab", "abc", "abd", "b", "Ab", "%61b", "a%2Fb", "é", "x:y") }
	for range 4 {
		rules := make([]referenceRule, 200)
		for i := range rules {
			value := segment() + pick("", segment()) + pick("", "*", "/*", "*"+pick("abc", "x:y", "%2Fb", ".html", "q=1")) + pick("", "", segment(), "?q", "*?q=%3A") + pick("", "", "$", "*")
			rules[i] = referenceRule{random.IntN(2) == 0, value}
		}
		for range 10 {
			path := segment() + pick("", segment()) + pick("", segment()) + pick("", "/abc", ".html") + pick("", "?q", "?q=:", "?a%2Fb", "?q=1")
			compareWithReference(t, rules, path)
		}
	}
}
