package policy_test

import (
	"strings"
	"testing"

	"heed/policy"
)

// reading is a case of one point where RFC 9309 leaves room. want is the line
// that decides, negative where it allows, and 0 where none does.
type reading struct {
	robots string
	agent  string
	path   string
	want   int
}

func (r reading) check(t *testing.T) {
	t.Helper()
	d := policy.Parse([]byte(r.robots)).Decide([]string{r.agent}, policy.Target{Path: r.path})
	got := d.Line
	if d.Allowed() {
		got = -got
	}
	if got != r.want || d.Line == 0 && !d.Allowed() {
		t.Errorf("%q asks for %q under %q: got line %d (%+v), want %d", r.agent, r.path, r.robots, got, d, r.want)
	}
}

func checkAll(t *testing.T, readings []reading) {
	t.Helper()
	for _, r := range readings {
		r.check(t)
	}
}

// star puts rules into a * group, so that their first line is line 2.
func star(rules ...string) string { return "User-agent: *\n" + strings.Join(rules, "\n") + "\n" }

func TestConfiguredToken(t *testing.T) {
	robots := "User-agent: my_bot-2\nDisallow: /\n"
	checkAll(t, []reading{
		{robots, "my_bot-2", "/", 2},
		{robots, "MY_BOT-2/1.0", "/", 2},
		{robots, "my_bot-2 crawler", "/", 2},
		{robots, "my_bot", "/", 0},
		{robots, "my_bot-2x", "/", 0},
		{robots, "*", "/", 0},
		{star("Disallow: /"), "*", "/", 2},
	})
}

func TestAgentLine(t *testing.T) {
	for value, names := range map[string]string{
		"foobot/2.1": "foobot", "foobot crawler": "foobot", "foobot,barbot": "foobot", "foobot*": "foobot",
		"*": "any", "* all": "any", "*\tall": "any",
		"*foobot": "", "**": "", "(foobot)": "", "": "",
	} {
		robots := "User-agent: " + value + "\nDisallow: /\n"
		for _, agent := range []string{"foobot", "any"} {
			want := 0
			if names == "any" || names == agent {
				want = 2
			}
			reading{robots, agent, "/", want}.check(t)
		}
	}
}

func TestInvalidAgentLineOpensGroup(t *testing.T) {
	robots := "User-agent: a\nDisallow: /a\nUser-agent: (?)\nDisallow: /b\n"
	checkAll(t, []reading{{robots, "a", "/a", 2}, {robots, "a", "/b", 0}})
	extended := "User-agent: (?)\nUser-agent: a\nUser-agent:\nDisallow: /\n"
	reading{extended, "a", "/", 4}.check(t)
}

func TestComparisonIsExact(t *testing.T) {
	robots := "User-agent: Foo\nDisallow: /\n"
	checkAll(t, []reading{
		{robots, "fOO", "/", 2},
		{robots, "foobot", "/", 0},
		{robots, "fo", "/", 0},
		{robots, "myfoo", "/", 0},
		{"User-agent: \u212a\nDisallow: /\n", "k", "/", 0}, // the Kelvin sign is no K
	})
}

func TestGroups(t *testing.T) {
	merged := "User-agent: a\nDisallow: /1\nUser-agent: b\nDisallow: /2\nUser-agent: a\nUser-agent: A\nDisallow: /3\n"
	empty := "User-agent: a\nDisallow:\nUser-agent: b\nAllow:\nUser-agent: c\nDisallow: /\n"
	invalid := "User-agent: a\nDisallow: private\nUser-agent: b\nDisallow: /\n"
	later := "User-agent: x\nDisallow: /x\nUser-agent: a\nUser-agent: b\nDisallow: /\n"
	checkAll(t, []reading{
		{later, "a", "/", 5}, {later, "b", "/", 5},
		{merged, "a", "/1", 2}, {merged, "a", "/2", 0}, {merged, "a", "/3", 7}, {merged, "b", "/3", 0},
		// A rule without a path rules nothing, but ends the agent lines.
		{empty, "a", "/", 0}, {empty, "b", "/", 0}, {empty, "c", "/", 6},
		{invalid, "a", "/", 0}, {invalid, "b", "/", 4},
		{"Disallow: /\nUser-agent: a\n", "a", "/", 0},
	})
}

func TestOtherRecordsDoNotSplitGroup(t *testing.T) {
	for _, record := range []string{"Crawl-delay: 5", "Sitemap: http://h.example/s.xml", "Foo: bar", "foo", "Disallowed: /x", "# c", ""} {
		robots := "User-agent: a\n" + record + "\nUser-agent: b\nDisallow: /1\n" + record + "\nDisallow: /2\n"
		checkAll(t, []reading{{robots, "a", "/1", 4}, {robots, "b", "/2", 6}})
	}
}

func TestMissingColon(t *testing.T) {
	checkAll(t, []reading{
		{"User-agent bot\nDisallow\t /x", "bot", "/x", 2},
		{"user agent bot\nDisallow /x:y", "bot", "/x:y", 2},
		{star("Disallow /x", "Allow /x/y"), "bot", "/x/y", -3},
		{star("Disallow"), "bot", "/", 0},
		{star("Disallow/x"), "bot", "/x", 0},
		// Prose is not a record.
		{star("User-agent strings are listed below", "Disallow: /x"), "bot", "/x", 3},
	})
}

func TestMisspeltKeys(t *testing.T) {
	for _, key := range []string{"disallow", "DISALLOW", "dissallow", "dissalow", "disalow", "diasllow", "disallaw", "Disallow \t"} {
		reading{star(key + ": /x"), "bot", "/x", 2}.check(t)
	}
	for _, key := range []string{"user-agent", "USERAGENT", "user agent", "User-Agent "} {
		reading{key + ": bot\nDisallow: /x", "bot", "/x", 2}.check(t)
	}
	for _, key := range []string{"disallowed", "disallow-all", "xdisallow", "di\u017fallow", "no", "<p>disallow"} {
		reading{star(key + ": /x"), "bot", "/x", 0}.check(t)
	}
}

func TestPathWithoutSlash(t *testing.T) {
	for _, path := range []string{"x", "http://h.example/x", "//h.example/x", "?x", "$", "%2Fx", "index.html"} {
		reading{star("Disallow: " + path), "bot", "/x", 0}.check(t)
	}
	checkAll(t, []reading{
		{star("Disallow: *x"), "bot", "/x", 2},
		{star("Disallow: *"), "bot", "/x", 2},
		{star("Disallow: *$"), "bot", "/x", 2},
	})
}

func TestCommentEndsLine(t *testing.T) {
	checkAll(t, []reading{
		{"User-agent: bot#1\n Disallow: /a#/b \n", "bot", "/a", 2},
		{"#User-agent: *\n#Disallow: /\n", "bot", "/", 0},
	})
}

func TestNotARobotsTXT(t *testing.T) {
	for _, body := range []string{
		"<!DOCTYPE html>\n<p>User-agent: *</p>\n<p>Disallow: /</p>\n",
		`{"User-agent": "*", "Disallow": "/"}`,
		"\x1f\x8b\x08\x00\x00Disallow: /\x00\xff",
		"", "\n", ":", "#", ":\n:\n:",
	} {
		reading{body, "bot", "/", 0}.check(t)
	}
}
