package policy_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heed/policy"
)

// vector is one case of testdata/*.jsonl.
type vector struct {
	Profile policy.Profile
	Name    string
	Robots  string
	Base64  []byte `json:"robots_b64"`
	Agent   string
	URL     string
	Allow   bool
	Line    int
}

func vectors(t testing.TB, file string) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	for line := range bytes.Lines(data) {
		var v vector
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%s, line %d: %v", file, len(all)+1, err)
		}
		if v.Base64 == nil {
			v.Base64 = []byte(v.Robots)
		}
		all = append(all, v)
	}
	if len(all) < 80 {
		t.Fatalf("%s: only %d vectors", file, len(all))
	}
	return all
}

// robots.jsonl holds the readings of RFC 9309, google.jsonl what Google's parser
// says of the same, documents.jsonl the examples of two documents that contradict
// each other, so that each has its profile.
func TestVectors(t *testing.T) {
	for file, p := range map[string]policy.Profile{"robots.jsonl": policy.RFC9309, "google.jsonl": policy.Google, "documents.jsonl": ""} {
		for _, v := range vectors(t, file) {
			if p != "" {
				v.Profile = p
			}
			t.Run(file+"/"+string(v.Profile)+"/"+v.Name, func(t *testing.T) {
				x := policy.Parse(v.Base64).Explain(v.Profile, []string{v.Agent}, target(t, v.URL))
				if x.Allowed() != v.Allow || x.Line != v.Line && file == "robots.jsonl" {
					t.Errorf("%s asks for %s under\n%s\ngot %+v\nwant allow %t by line %d", v.Agent, v.URL, v.Base64, x, v.Allow, v.Line)
				}
				checkExplanation(t, x)
			})
		}
	}
}

// checkExplanation checks what holds of every explanation.
func checkExplanation(t *testing.T, x policy.Explanation) {
	t.Helper()
	ruled := x.Reason == policy.ReasonRule
	switch {
	case ruled != (x.Winner != nil), ruled && (x.Winner.Line != x.Line || x.Winner.Rule != x.Rule || x.Winner.Verdict != x.Verdict):
		t.Errorf("decision and winner differ: %+v, %+v", x, x.Winner)
	case (x.RunnerUp != nil) != (x.Lost != ""), x.RunnerUp != nil && (x.Winner == nil || x.RunnerUp.Octets > x.Winner.Octets):
		t.Errorf("runner-up %+v of %+v, lost %q", x.RunnerUp, x.Winner, x.Lost)
	case (x.Group != "") != (len(x.Agents) > 0):
		t.Errorf("group %q, agent lines %+v", x.Group, x.Agents)
	}
}

func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/corpus/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("corpus: %v, %d files", err, len(files))
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		robots := policy.Parse(body)
		for line := range strings.Lines(string(body)) {
			_, path, _ := strings.Cut(strings.TrimSpace(line), "/")
			checkDecision(t, robots, "/"+path)
		}
	}
}

// checkDecision decides on path for several agents and checks what holds of
// every decision.
func checkDecision(t *testing.T, robots *policy.Robots, path string) {
	t.Helper()
	for _, tokens := range [][]string{nil, {"heed"}, {"Googlebot", "bingbot"}} {
		d := robots.Decide(tokens, policy.Target{Path: path})
		ruled := d.Reason == policy.ReasonRule
		if ruled != (d.Line > 0) || ruled != (d.Rule != "") || !ruled && !d.Allowed() {
			t.Errorf("path %q, tokens %q: inconsistent %+v", path, tokens, d)
		}
	}
}

func target(t *testing.T, url string) policy.Target {
	t.Helper()
	parsed, err := policy.ParseTarget(url)
	if err != nil {
		t.Fatalf("ParseTarget(%q): %v", url, err)
	}
	return parsed
}

func TestDecision(t *testing.T) {
	const robots = `User-agent: FooBot/2.1
Disallow: /foo   # why
Allow: /foo/ok

User-agent: *
disallow:/star
`
	tests := []struct {
		name   string
		tokens []string
		path   string
		want   policy.Decision
	}{
		{"rule is the line's own text", []string{"foobot"}, "/foo", policy.Decision{
			Verdict: policy.Disallow, Reason: policy.ReasonRule, Agent: "foobot", Group: "foobot",
			Rule: "Disallow: /foo", Line: 2, Profile: policy.RFC9309}},
		{"allow names its rule", []string{"foobot"}, "/foo/ok", policy.Decision{
			Verdict: policy.Allow, Reason: policy.ReasonRule, Agent: "foobot", Group: "foobot",
			Rule: "Allow: /foo/ok", Line: 3, Profile: policy.RFC9309}},
		{"no rule matches", []string{"foobot"}, "/star", policy.Decision{
			Verdict: policy.Allow, Reason: policy.ReasonNoRule, Agent: "foobot", Group: "foobot",
			Profile: policy.RFC9309}},
		{"token as configured", []string{"FOOBOT/3 (x)"}, "/", policy.Decision{
			Verdict: policy.Allow, Reason: policy.ReasonNoRule, Agent: "FOOBOT/3 (x)", Group: "FOOBOT/3 (x)",
			Profile: policy.RFC9309}},
		{"second token has the group", []string{"news", "foobot"}, "/foo", policy.Decision{
			Verdict: policy.Disallow, Reason: policy.ReasonRule, Agent: "foobot", Group: "foobot",
			Rule: "Disallow: /foo", Line: 2, Profile: policy.RFC9309}},
		{"star names the first token", []string{"news", "mail"}, "/star", policy.Decision{
			Verdict: policy.Disallow, Reason: policy.ReasonRule, Agent: "news", Group: "*",
			Rule: "disallow:/star", Line: 6, Profile: policy.RFC9309}},
		{"no token falls to star", nil, "/star", policy.Decision{
			Verdict: policy.Disallow, Reason: policy.ReasonRule, Group: "*",
			Rule: "disallow:/star", Line: 6, Profile: policy.RFC9309}},
		{"empty token names no group", []string{"", "(x)"}, "/star", policy.Decision{
			Verdict: policy.Disallow, Reason: policy.ReasonRule, Group: "*",
			Rule: "disallow:/star", Line: 6, Profile: policy.RFC9309}},
		{"robots.txt compares no path", []string{"foobot"}, "/robots.txt", policy.Decision{
			Verdict: policy.Allow, Reason: policy.ReasonRobotsTXT, Agent: "foobot"}},
		{"no path", []string{"foobot"}, "", policy.Decision{Reason: policy.ReasonBadRequest, Agent: "foobot"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := policy.Parse([]byte(robots)).Decide(tt.tokens, policy.Target{Path: tt.path})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("tokens %q, path %q under\n%s\n(-want +got)\n%s", tt.tokens, tt.path, robots, diff)
			}
		})
	}
}

func TestNoGroup(t *testing.T) {
	got := policy.Parse([]byte("User-agent: other\nDisallow: /\n")).Decide([]string{"bot", "b"}, policy.Target{Path: "/"})
	want := policy.Decision{Verdict: policy.Allow, Reason: policy.ReasonNoGroup, Agent: "bot"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("agent without a group (-want +got)\n%s", diff)
	}
}
