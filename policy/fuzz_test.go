package policy_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heed/policy"
)

// seedFiles adds the vectors and the corpus.
func seedFiles(f *testing.F, add func(body []byte, path string)) {
	for _, file := range []string{"robots.jsonl", "google.jsonl", "documents.jsonl"} {
		for _, v := range vectors(f, file) {
			if t, err := policy.ParseTarget(v.URL); err == nil {
				add(v.Base64, t.Path)
			}
		}
	}
	files, err := filepath.Glob("testdata/corpus/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("corpus: %v, %d files", err, len(files))
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		add(body, "/a%2e/../b?c:%2F")
	}
}

// rulesOf reads what a fuzzer makes up as the rules of one group.
func rulesOf(text string) (rules []referenceRule) {
	for line := range strings.SplitSeq(strings.NewReplacer("\r", "\n", "#", "", "\x00", "").Replace(text), "\n") {
		if len(rules) == 12 {
			break
		}
		value, allow := strings.CutPrefix(line, "+")
		rules = append(rules, referenceRule{allow, strings.Trim(value, " \t\v\f")})
	}
	return rules
}

// FuzzDecide holds the engine against the slow matcher, under every profile.
func FuzzDecide(f *testing.F) {
	for _, seed := range [][2]string{
		{"/*.dext$", "/fish.dext.dext"}, {"/*a*a*b", "/aaaaaaaa"}, {"*%2F*?u=%3A/$", "/a%2f?u=:%2F"},
		{"/a?b*?c%3a$\n+/a?b", "/a?b?c:"}, {"/%7e%zz%$$", "/~%zz%25$"}, {"/ツ*", "/%E3%83%84"}, {"/ab*ba$", "/aba"},
		{"/*%3A%2F*/:$", "/a:%3a/%2F?:/%3A%2F/:"}, {"/*?*??$", "/a???"}, {"/**\n+/**$", "/"},
		{"*A$", "/*"}, {"*2F", "/%2f?%2f"}, {"/d\n+/d/index.html", "/d/"}, {"/%C9%BA\n+/Ⱥ", "/ⱥ/%e2%B1%A5"},
	} {
		f.Add(seed[0], seed[1])
	}
	seedFiles(f, func(body []byte, path string) {
		f.Add(strings.NewReplacer("Allow: ", "+", "Disallow: ", "").Replace(string(body)), path)
	})
	f.Fuzz(func(t *testing.T, text, path string) {
		if len(text) > 2000 || len(path) > 500 || (policy.Target{Path: "/" + path}).IsRobotsTXT() {
			t.Skip()
		}
		compareWithReference(t, rulesOf(text), "/"+path)
	})
}

// FuzzEquivalence holds what must not change a verdict.
func FuzzEquivalence(f *testing.F) {
	seedFiles(f, func(body []byte, path string) {
		f.Add(strings.NewReplacer("Allow: ", "+", "Disallow: ", "").Replace(string(body)), path, uint(3))
	})
	f.Fuzz(func(t *testing.T, text, path string, at uint) {
		if len(text) > 2000 || len(path) > 500 {
			t.Skip()
		}
		path = "/" + path
		rules := rulesOf(text)
		target := policy.Target{Path: path}
		reversed := slices.Clone(rules)
		slices.Reverse(reversed)
		parted := parted(rules, at)
		for _, p := range policy.Profiles() {
			want := verdict(p, rules, path)
			if got := verdict(p, reversed, path); got != want {
				t.Errorf("%s: %q under %q: order changes %s to %s", p, path, text, want, got)
			}
			if got := policy.Parse([]byte(parted)).DecideUnder(p, nil, target).Verdict; got != want {
				t.Errorf("%s: %q under %q: a second group changes %s to %s", p, path, parted, want, got)
			}
			more := slices.Insert(slices.Clone(rules), int(at)%(len(rules)+1), referenceRule{true, path})
			if got := verdict(p, more, path); want == policy.Allow && got != policy.Allow {
				t.Errorf("%s: %q under %q: one more allow makes it %s", p, path, text, got)
			}
		}
		want := verdict(policy.RFC9309, rules, path)
		if got := verdict(policy.RFC9309, rules, respell(path)); got != want && !target.IsRobotsTXT() {
			t.Errorf("%q under %q: respelt as %q it is %s, not %s", path, text, respell(path), got, want)
		}
		for i := range rules {
			rules[i].value = respell(rules[i].value)
		}
		if got := verdict(policy.RFC9309, rules, path); got != want {
			t.Errorf("%q under %q: respelt rules %+v make it %s, not %s", path, text, rules, got, want)
		}
	})
}

func verdict(p policy.Profile, rules []referenceRule, path string) policy.Verdict {
	return policy.Parse([]byte(referenceFile(rules))).DecideUnder(p, nil, policy.Target{Path: path}).Verdict
}

// parted writes rules as two groups of the same agent around one of another's.
func parted(rules []referenceRule, at uint) string {
	i := int(at) % (len(rules) + 1)
	return referenceFile(rules[:i]) + "Allow:\nUser-agent: other\nDisallow: /\n" + referenceFile(rules[i:])
}

// respell writes what RFC 9309 2.2.2 holds equal in another way: unreserved
// octets as escapes, others that have an escape with lower case digits.
func respell(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		c, escaped, _ := next(s[i:])
		switch {
		case escaped && strings.IndexByte(referenceUnreserved, c) >= 0:
			out.WriteByte(c)
			i += 2
		case escaped:
			out.WriteString(strings.ToLower(s[i : i+3]))
			i += 2
		case strings.IndexByte("abcXYZ019~", c) >= 0, c >= 0x80, c == '"':
			out.WriteString("%" + strconv.FormatUint(0x100|uint64(c), 16)[1:])
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// FuzzParse holds what is true of any bytes.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		star("Disallow: /a*b$", "Allow: /%61"), "\xff\xfeU\x00s\x00", "\xfe\xff\xd8", "\ufeffuser agent a\rdisallow /\r\n",
		"User-agent:\nUser-agent: *\nAllow:\nDisallow:/\xff#\n", "<html>", ":::\n  :", star("Disallow: http://h.example/a", "Disallowed: b"),
	} {
		f.Add([]byte(seed), "a%2e/../b?c:%2F")
	}
	seedFiles(f, func(body []byte, path string) { f.Add(body, path[1:]) })
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		before := slices.Clone(body)
		robots := policy.Parse(body)
		if !slices.Equal(before, body) {
			t.Fatalf("Parse changed its input %q", before)
		}
		checkDecision(t, robots, "/"+path)
		access := policy.Access{Result: policy.Successful, Robots: robots, URL: "http://h.example/robots.txt"}
		for _, p := range policy.Profiles() {
			s := policy.Settings{Profile: p, Tokens: []string{"heed"}}
			target := policy.Target{Origin: policy.Origin{Scheme: "http", Host: "h.example", Port: 80}, Path: "/" + path}
			x := s.Explain(&access, target)
			if x.Decision != s.Decide(&access, target) {
				t.Errorf("%q: explained %+v, decided %+v", body, x, s.Decide(&access, target))
			}
			checkExplanation(t, x)
			if s.Unrestricted(&access).Allowed() && !x.Allowed() {
				t.Errorf("%s: %q: tunnel allowed, /%q disallowed: %+v", p, body, path, x)
			}
		}
	})
}
