package policy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heed/policy"
)

const extended = `Sitemap: https://h.example/s.xml
User-agent: a
Crawl-delay: 1.5
User-agent: b
Disallow: /x
crawl-delay: 3 # or so
Request-rate: 1/5m 0800-1745
Request-rate: often
Visit-time: 22:00 - 05:30
Content-Signal: search=yes, ai-train=no
Content-Usage: /news/ train-ai=n
Content-Usage: search = y
DisallowAITraining: /art/
Host: h.example
Clean-param: ref /articles/
License: https://h.example/license.xml
SITEMAP: /relative.xml
Colour: blue
User-agent: *
Crawl-delay: soon
Crawl-delay: -1
Crawl-delay: NaN
Crawl-delay: 1e300
`

func TestExtensions(t *testing.T) {
	robots := policy.Parse([]byte(extended))
	want := policy.Extensions{
		CrawlDelay:     3 * time.Second,
		RequestRates:   []policy.RequestRate{{Requests: 1, Per: 5 * time.Minute, During: policy.ClockRange{From: 480, To: 1065}}},
		VisitTimes:     []policy.ClockRange{{From: 1320, To: 330}},
		ContentSignals: []policy.Preferences{{Line: 10, Values: map[string]string{"search": "yes", "ai-train": "no"}}},
		ContentUsages: []policy.Preferences{
			{Line: 11, Path: "/news/", Values: map[string]string{"train-ai": "n"}},
			{Line: 12, Values: map[string]string{"search": "y"}},
		},
		AITraining: []string{"/art/"},
	}
	for _, token := range []string{"a", "B/2"} {
		if diff := cmp.Diff(want, robots.Extensions([]string{token})); diff != "" {
			t.Errorf("%s (-want +got)\n%s", token, diff)
		}
	}
	if diff := cmp.Diff(policy.Extensions{}, robots.Extensions([]string{"c"})); diff != "" {
		t.Errorf("* (-want +got)\n%s", diff)
	}
	for name, check := range map[string]struct{ got, want []string }{
		"sitemaps":     {robots.Sitemaps(), []string{"https://h.example/s.xml", "/relative.xml"}},
		"hosts":        {robots.Hosts(), []string{"h.example"}},
		"clean params": {robots.CleanParams(), []string{"ref /articles/"}},
		"licenses":     {robots.Licenses(), []string{"https://h.example/license.xml"}},
	} {
		if !slices.Equal(check.got, check.want) {
			t.Errorf("%s: got %q, want %q", name, check.got, check.want)
		}
	}
	if got, want := robots.UnknownRecords(), []policy.Record{{Line: 18, Key: "Colour", Value: "blue"}}; !slices.Equal(got, want) {
		t.Errorf("unknown records: got %+v, want %+v", got, want)
	}
	if records := slices.Collect(robots.Records()); len(records) != 23 || records[5].Value != "3" {
		t.Errorf("%d records: %+v", len(records), records)
	}
}

func TestExtensionsOfNothing(t *testing.T) {
	var none *policy.Robots
	for _, robots := range []*policy.Robots{none, {}, policy.Parse(nil)} {
		x := robots.Extensions([]string{"a"})
		if diff := cmp.Diff(policy.Extensions{}, x); diff != "" || robots.Sitemaps() != nil || robots.UnknownRecords() != nil {
			t.Errorf("%+v has extensions %s", robots, diff)
		}
	}
}
