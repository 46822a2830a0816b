package policy_test

import (
	"testing"
	"time"

	"heed/policy"
)

func TestHostPattern(t *testing.T) {
	cases := []struct {
		pattern, url string
		want         bool
	}{
		{"h.example", "http://h.example/", true},
		{"h.example", "https://h.example:8443/", true},
		{"H.Example.", "http://h.example/", true},
		{"h.example", "http://www.h.example/", false},
		{"h.example:8443", "https://h.example:8443/", true},
		{"h.example:8443", "https://h.example/", false},
		{"h.example:443", "https://h.example/", true},
		{"h.example:443", "http://h.example/", false},
		{"*.h.example", "http://www.h.example/", true},
		{"*.h.example", "http://a.b.h.example/", true},
		{"*.h.example", "http://h.example/", false},
		{"*.h.example", "http://wwwh.example/", false},
		{"*.h.example:80", "http://www.h.example/", true},
		{"*.h.example:80", "https://www.h.example/", false},
		{"*", "http://anything.example/", true},
		{"*", "http://[::1]/", true},
		{"*:8080", "http://anything.example:8080/", true},
		{"*:8080", "http://anything.example/", false},
		{"192.0.2.7", "http://192.0.2.7/", true},
		{"[2001:db8::1]:81", "http://[2001:DB8:0::1]:81/", true},
		{"[2001:db8::1]", "http://[2001:db8::1]:81/", true},
	}
	for _, c := range cases {
		p, err := policy.ParseHostPattern(c.pattern)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		target, err := policy.ParseTarget(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Match(target.Origin); got != c.want || p.String() != c.pattern {
			t.Errorf("%q matches %s: %v, want %v", c.pattern, c.url, got, c.want)
		}
	}
	for _, bad := range []string{"", "*.", "**", "a.*.example", "http://h.example", "h.example/x", "h.example:", "*:", "*:0", "*x", "u@h.example", "h example", "::1"} {
		if p, err := policy.ParseHostPattern(bad); err == nil || p.Match(policy.Origin{Scheme: "http", Host: "h.example", Port: 80}) {
			t.Errorf("%q is taken for a pattern", bad)
		}
	}
	if (policy.HostPattern{}).Match(policy.Origin{}) {
		t.Error("the zero pattern matches")
	}
}

func TestFindOverride(t *testing.T) {
	pattern := func(s string) policy.HostPattern {
		p, err := policy.ParseHostPattern(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	now := time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)
	list := []policy.Override{
		{Host: pattern("old.example"), Action: policy.ActionAllow, Reason: "expired", Expires: now},
		{Host: pattern("a.example"), Action: policy.ActionAllow, Reason: "first", Expires: now.Add(time.Second)},
		{Host: pattern("a.example"), Reason: "second"},
		{Host: pattern("*"), Reason: "out of scope"},
	}
	for host, want := range map[string]string{
		"a.example":   "allow a.example: first",
		"b.example":   "deny *: out of scope",
		"old.example": "deny *: out of scope",
	} {
		o := policy.FindOverride(list, policy.Origin{Scheme: "http", Host: host, Port: 80}, now)
		if o == nil || o.String() != want {
			t.Errorf("%s: %v, want %q", host, o, want)
		}
	}
	if o := policy.FindOverride(list[:3], policy.Origin{Scheme: "http", Host: "b.example", Port: 80}, now); o != nil {
		t.Error("an override applies to a host that none names")
	}
}
