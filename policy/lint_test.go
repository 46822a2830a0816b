package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heed/policy"
)

// lintCases has, for each code, files and where it is found in them: "line:column".
var lintCases = map[string]map[string]string{
	"not-robots":          {"<!DOCTYPE html>\n<p>User-agent: *</p>": "1:1", ` {"a": 1}`: "1:1", "<?xml version='1.0'?>": "1:1", "\x1f\x8b\x08": "1:1", "D\x00i\x00s\x00a\x00l\x00": "1:1"},
	"media-type":          {star("Disallow: /"): "1:1", "<html>": "1:1"},
	"too-large":           {"User-agent: *\n" + strings.Repeat("Disallow: /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", 11_000): "10450:1"},
	"nul":                 {star("Disallow: /a\x00b"): "2:13"},
	"invisible-character": {"User-agent: *\n\u200dDisallow: /\n": "2:1", "User-agent:\u00a0bot\nDisallow: /\n": "1:12"},
	"rule-before-agent":   {" Disallow: /\nUser-agent: *\n": "1:2"},
	"path-without-slash":  {star("Disallow: private"): "2:11"},
	"url-as-path":         {star("Disallow: http://h.example/x"): "2:11"},
	"comma-list":          {"User-agent: a, b\nDisallow: /\n": "1:13", star("Disallow: /a, /b"): "2:13"},
	"agent-names-nothing": {"User-agent:\nDisallow: /\n": "1:12", "User-agent: (x)\nDisallow: /\n": "1:13"},
	"key-suffix":          {star("Disallowed: /x"): "2:1", "User-agents: *\nDisallow: /\n": "1:1"},
	"unread-key":          {star("Disalllow: /x"): "2:1", "User-agnet: *\n": "1:1"},
	"line-without-key":    {"hello world\n": "1:1", ": x\n": "1:1"},
	"missing-colon":       {star("Disallow /x"): "2:10", star("Disallow/x"): "2:1", star("Disallow /x /y"): "2:1"},
	"misspelt-key":        {star("Dissallow: /x"): "2:1", "Useragent: *\nDisallow: /\n": "1:1"},
	"agent-not-token":     {"User-agent: foobot/2.1\nDisallow: /\n": "1:19", "User-agent: * all\nDisallow: /\n": "1:14"},
	"space-in-path":       {star("Disallow: /a b"): "2:13"},
	"dollar-inside":       {star("Disallow: /a$b"): "2:13"},
	"contradicting-rules": {star("Disallow: /a", "Allow: /a"): "2:1", star("Allow: /~a", "Disallow: /%7ea"): "3:1"},
	"shadowed-rule":       {star("Disallow: /a", "Allow: /a*"): "2:1", star("Allow: /*b", "Disallow: /***b"): "2:1", star("Allow: /a$", "Disallow: /a*$"): "2:1"},
	"escape-precedence":   {star("Disallow: /bbb", "Allow: /%62%62"): "3:1"},
	"repeated-group":      {"User-agent: a\nDisallow: /\nUser-agent: b\nUser-agent: A\nDisallow: /x\n": "4:1"},
	"managed-conflict": {"# BEGIN Cloudflare Managed content\nUser-agent: *\nAllow: /\n# END Cloudflare Managed Content\n" +
		"User-agent: *\nDisallow: /\n": "5:1"},
	"extension-value":     {star("Crawl-delay: soon"): "2:1", star("Sitemap: /s.xml"): "2:1", star("Request-rate: 1"): "2:1", star("Content-Usage: maybe"): "2:1"},
	"line-too-long":       {star("Disallow: /" + strings.Repeat("a", 17_000)): "2:16664"},
	"invalid-utf8":        {star("Disallow: /\xff"): "2:12"},
	"utf16":               {"\xff\xfeU\x00s\x00": "1:1", "\xfe\xff\x00U": "1:1"},
	"bom":                 {"\ufeff" + star("Disallow: /"): "1:1"},
	"agent-digits":        {"User-agent: MJ12bot\nDisallow: /\n": "1:15"},
	"rule-without-effect": {star("Disallow: /a", "Disallow: /a/b"): "3:1", star("Disallow: /a", "Disallow: /a"): "3:1", star("Disallow: /x", "Allow: /a"): "3:1", star("Disallow: /a", "Disallow:"): "3:1", star("Disallow: /a", "Disallow: /a*"): "2:1"},
	"extension":           {star("Crawl-delay: 1", "Crawl-delay: 2"): "2:1", "Sitemap: https://h.example/s.xml\n": "1:1"},
	"unknown-key":         {star("Colour: blue", "colour: red", "Colour: green"): "2:1"},
}

func TestLint(t *testing.T) {
	served := map[string]string{"media-type": "text/html"}
	for _, c := range policy.LintCodes() {
		if len(lintCases[c.Code]) == 0 {
			t.Errorf("%s has no case", c.Code)
		}
		for body, want := range lintCases[c.Code] {
			var got []string
			for _, f := range policy.LintServed([]byte(body), served[c.Code]) {
				if f.Code == c.Code {
					got = append(got, fmt.Sprintf("%d:%d", f.Line, f.Column))
				}
				if f.Code == c.Code && f.Severity != c.Severity {
					t.Errorf("%s: severity %s, want %s", c.Code, f.Severity, c.Severity)
				}
			}
			if len(got) == 0 || got[0] != want {
				t.Errorf("%s in %.60q: at %q, want %s", c.Code, body, got, want)
			}
		}
	}
}

// What a careful author writes has nothing but notes.
func TestLintOfGoodFiles(t *testing.T) {
	for _, body := range []string{
		"", "# nothing\n", star("Disallow:"), star("Allow: /"), star("Disallow: /"),
		star("Disallow: /a", "Allow: /a/b", "Disallow: /*.gif$", "Disallow: /a%2Fb") + "\nUser-agent: bot\nDisallow: /\n",
		star("Disallow: /a", "Allow: /a*b", "Disallow: /a*bc"),
		star("Disallow: /%E3%83%84", "Allow: /%E3%83%84/x"),
		star("Disallow: /*%2Fa", "Disallow: /*/a"),
		"User-agent: a\nUser-agent: b\nDisallow: /x\n\nUser-agent: c\nDisallow: /x\n",
	} {
		if found := policy.Lint([]byte(body)); len(found) > 0 {
			t.Errorf("%q: %+v", body, found)
		}
	}
}

// checkFindings checks what holds of every finding: it lies inside the input and
// says what is wrong and what to do.
func checkFindings(t *testing.T, body []byte) {
	t.Helper()
	robots := policy.Parse(body)
	lines := robots.Lines()
	for _, f := range policy.Lint(body) {
		if f.Line < 1 || f.Line > max(1, len(lines)) || f.Column < 1 || len(lines) > 0 && f.Column > len(lines[f.Line-1])+1 {
			t.Errorf("%.200q: %+v lies outside", body, f)
		}
		known := slices.ContainsFunc(policy.LintCodes(), func(c policy.LintCode) bool { return c.Code == f.Code && c.Severity == f.Severity })
		if !known || f.Message == "" || f.Remedy == "" || strings.ContainsAny(f.Message+f.Remedy, "\r\n\x00\x1b") {
			t.Errorf("%.200q: %+v", body, f)
		}
	}
}

func FuzzLint(f *testing.F) {
	seedFiles(f, func(body []byte, _ string) { f.Add(body) })
	for _, files := range lintCases {
		for body := range files {
			if len(body) < 1000 {
				f.Add([]byte(body))
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkFindings(t, body) })
}

// A rule that Lint calls useless can be taken out without changing a verdict.
func TestUselessRulesAreUseless(t *testing.T) {
	files, err := filepath.Glob("testdata/corpus/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("corpus: %v, %d files", err, len(files))
	}
	tried := 0
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		robots := policy.Parse(body)
		lines := robots.Lines()
		var agents []string
		for rec := range robots.Records() {
			if strings.EqualFold(rec.Key, "user-agent") && !slices.Contains(agents, rec.Value) {
				agents = append(agents, rec.Value)
			}
		}
		for _, f := range policy.Lint(body) {
			if !slices.Contains([]string{"rule-without-effect", "shadowed-rule", "contradicting-rules"}, f.Code) {
				continue
			}
			tried++
			without := slices.Clone(lines)
			without[f.Line-1] = "Disallow:"
			other := policy.Parse([]byte(strings.Join(without, "\n")))
			// Its own path, as it is and a little beside it, and those of its neighbours.
			for _, line := range lines[max(0, f.Line-4):min(len(lines), f.Line+3)] {
				_, path, _ := strings.Cut(line, ":")
				path = "/" + strings.Trim(strings.TrimSpace(path), "/$")
				for _, path := range []string{path, path + "/", path + "/x", strings.ReplaceAll(path, "*", "/x")} {
					for _, agent := range agents {
						a, b := robots.Decide([]string{agent}, policy.Target{Path: path}), other.Decide([]string{agent}, policy.Target{Path: path})
						if a.Verdict != b.Verdict {
							t.Fatalf("%s: %+v: without it %s of %s is %s, not %s", file, f, path, agent, b.Verdict, a.Verdict)
						}
					}
				}
			}
		}
	}
	if tried < 20 {
		t.Errorf("only %d findings tried", tried)
	}
}

// Parsing and linting take time in proportion to the file. Were it only quadratic,
// eight times the file would take 64 times as long.
func TestLintIsLinear(t *testing.T) {
	shapes := map[string]func(i int) string{
		"rules":         func(i int) string { return fmt.Sprintf("Disallow: /dir%d/*/x%d$\nAllow: /d%d/\n", i%97, i, i) },
		"groups":        func(i int) string { return fmt.Sprintf("User-agent: a%d\nDisallow: /x\nCrawl-delay: 1\n", i) },
		"shared groups": func(i int) string { return fmt.Sprintf("User-agent: a%d\nUser-agent: b\nDisallow: /x%d\n", i%7, i) },
		"nested": func(i int) string {
			return "Disallow: /" + strings.Repeat("a", i%60) + "*" + strings.Repeat("b", i%50) + "\n"
		},
		"carriage return": func(i int) string { return fmt.Sprintf("Disallow: /%d\r", i) },
	}
	for name, shape := range shapes {
		ratio := 0.0
		for range 3 { // a noisy machine gets another chance
			if ratio = float64(lintTime(shape, 2000)) / float64(lintTime(shape, 250)); ratio <= 32 {
				break
			}
		}
		if ratio > 32 {
			t.Errorf("%s: 8 times the file took %.0f times the time", name, ratio)
		}
	}
}

func lintTime(shape func(int) string, n int) time.Duration {
	var body strings.Builder
	body.WriteString("User-agent: *\n")
	for i := range n {
		body.WriteString(shape(i))
	}
	least := time.Hour
	for range 3 {
		start := time.Now()
		policy.Lint([]byte(body.String()))
		policy.Parse([]byte(body.String())).Decide(nil, policy.Target{Path: "/x"})
		least = min(least, time.Since(start))
	}
	return least
}
