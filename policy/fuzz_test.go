package policy_test

import (
	"slices"
	"strings"
	"testing"

	"heed/policy"
)

func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{
		{"/*.dext$", "/fish.dext.dext"}, {"/*a*a*b", "/aaaaaaaa"}, {"*%2F*?u=%3A/$", "/a%2f?u=:%2F"},
		{"/a?b*?c%3a$", "/a?b?c:"}, {"/%7e%zz%$$", "/~%zz%25$"}, {"/ツ*", "/%E3%83%84"}, {"/ab*ba$", "/aba"},
		{"/*%3A%2F*/:$", "/a:%3a/%2F?:/%3A%2F/:"}, {"/*?*??$", "/a???"}, {"/**", "/"},
		{"*A$", "/*"}, {"*2F", "/%2f?%2f"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, rule, path string) {
		if !strings.HasPrefix(rule, "/") && !strings.HasPrefix(rule, "*") || strings.ContainsAny(rule, "#\r\n") ||
			strings.Trim(rule, " \t\v\f") != rule {
			t.Skip("not the path of a rule")
		}
		decoded := strings.NewReplacer("%2e", ".", "%2E", ".").Replace(path)
		if strings.Contains(decoded, "/.") || decoded == "robots.txt" || !strings.HasPrefix(path, "/") {
			t.Skip("not compared once and as it is")
		}
		robots := policy.Parse([]byte(star("Disallow: " + rule)))
		got := robots.Decide(nil, policy.Target{Path: path})
		if got.Reason == policy.ReasonRobotsTXT {
			t.Skip("always allowed")
		}
		if want := referenceMatch(rule, path); got.Allowed() == want {
			t.Errorf("rule %q, path %q: got %+v, want match %t", rule, path, got, want)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		star("Disallow: /a*b$", "Allow: /%61"), "\xff\xfeU\x00s\x00", "\xfe\xff\xd8", "\ufeffuser agent a\rdisallow /\r\n",
		"User-agent:\nUser-agent: *\nAllow:\nDisallow:/\xff#\n", "<html>", ":::\n  :",
	} {
		f.Add([]byte(seed), "/a%2e/../b?c:%2F")
	}
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		before := slices.Clone(body)
		robots := policy.Parse(body)
		if !slices.Equal(before, body) {
			t.Fatalf("Parse changed its input %q", before)
		}
		checkDecision(t, robots, "/"+path)
		access := policy.Access{Result: policy.Successful, Robots: robots}
		tunnel := policy.Settings{}.Unrestricted(access)
		if d := robots.Decide(nil, policy.Target{Path: "/" + path}); tunnel.Allowed() && !d.Allowed() {
			t.Errorf("%q: tunnel allowed, /%q disallowed: %+v", body, path, d)
		}
	})
}
