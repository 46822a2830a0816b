package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"heed/policy"
)

func successful(robots string) policy.Access {
	return policy.Access{Result: policy.Successful, Robots: policy.Parse([]byte(robots))}
}

func TestSettingsDecide(t *testing.T) {
	open := policy.Settings{Tokens: []string{"bot"}, OnUnreachable: policy.Allow, OnUnavailable: policy.Allow}
	tests := []struct {
		name     string
		settings policy.Settings
		access   policy.Access
		path     string
		verdict  policy.Verdict
		reason   policy.Reason
	}{
		{"zero access disallows", policy.Settings{}, policy.Access{}, "/", policy.Disallow, policy.ReasonUnreachable},
		{"unavailable by zero settings", policy.Settings{}, policy.Access{Result: policy.Unavailable}, "/", policy.Disallow, policy.ReasonUnavailable},
		{"unavailable allowed", open, policy.Access{Result: policy.Unavailable}, "/", policy.Allow, policy.ReasonUnavailable},
		{"unreachable allowed", open, policy.Access{}, "/", policy.Allow, policy.ReasonUnreachable},
		{"setting that is no plain yes", policy.Settings{OnUnreachable: policy.Error}, policy.Access{}, "/", policy.Disallow, policy.ReasonUnreachable},
		{"unknown result", policy.Settings{OnUnavailable: policy.Allow}, policy.Access{Result: 99}, "/", policy.Disallow, policy.ReasonUnreachable},
		{"successful without robots", open, policy.Access{Result: policy.Successful}, "/", policy.Disallow, policy.ReasonInternal},
		{"zero robots", open, policy.Access{Result: policy.Successful, Robots: &policy.Robots{}}, "/", policy.Disallow, policy.ReasonInternal},
		{"egress denied", open, policy.Access{EgressDenied: true}, "/", policy.Disallow, policy.ReasonEgressDenied},
		{"robots.txt of an unreachable origin", policy.Settings{}, policy.Access{}, "/robots.txt", policy.Allow, policy.ReasonRobotsTXT},
		{"rules decide", open, successful(star("Disallow: /a")), "/a", policy.Disallow, policy.ReasonRule},
		{"zero target", open, successful(""), "", policy.Disallow, policy.ReasonBadRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.settings.Decide(&tt.access, policy.Target{Path: tt.path})
			if got.Verdict != tt.verdict || got.Reason != tt.reason {
				t.Errorf("%+v with %+v, path %q: got %+v, want %s by %s", tt.settings, tt.access, tt.path, got, tt.verdict, tt.reason)
			}
			if len(tt.settings.Tokens) > 0 && got.Agent != tt.settings.Tokens[0] {
				t.Errorf("agent %q, want %q", got.Agent, tt.settings.Tokens[0])
			}
		})
	}
}

func TestSettingsUnrestricted(t *testing.T) {
	tests := []struct {
		name   string
		access policy.Access
		want   policy.Decision
	}{
		{"no group", successful("User-agent: other\nDisallow: /\n"), policy.Decision{
			Verdict: policy.Allow, Reason: policy.ReasonUnrestrictedTunnel, Agent: "news"}},
		{"nothing disallowed", successful(star("Disallow:", "Allow: /a", "Disallow: private")), policy.Decision{
			Verdict: policy.Allow, Reason: policy.ReasonUnrestrictedTunnel, Agent: "news", Group: "*"}},
		{"own group opens what * forbids", successful(star("Disallow: /") + "User-agent: bot\nAllow: /\n"), policy.Decision{
			Verdict: policy.Allow, Reason: policy.ReasonUnrestrictedTunnel, Agent: "bot", Group: "bot"}},
		{"first disallow rule is named", successful(star("Allow: /*", "Disallow: /b", "Disallow: /a")), policy.Decision{
			Reason: policy.ReasonRestrictedTunnel, Agent: "news", Group: "*", Rule: "Disallow: /b", Line: 3}},
		{"in a later block of the group", successful("User-agent: bot\nAllow: /\nUser-agent: x\nDisallow: /\nUser-agent: bot\nDisallow: /b\n"),
			policy.Decision{Reason: policy.ReasonRestrictedTunnel, Agent: "bot", Group: "bot", Rule: "Disallow: /b", Line: 6}},
		{"zero robots", policy.Access{Result: policy.Successful, Robots: &policy.Robots{}}, policy.Decision{
			Reason: policy.ReasonRestrictedTunnel, Agent: "news"}},
		{"zero access", policy.Access{}, policy.Decision{Reason: policy.ReasonUnreachable, Agent: "news"}},
		{"unavailable", policy.Access{Result: policy.Unavailable}, policy.Decision{
			Verdict: policy.Allow, Reason: policy.ReasonUnavailable, Agent: "news"}},
		{"egress denied", policy.Access{EgressDenied: true}, policy.Decision{Reason: policy.ReasonEgressDenied, Agent: "news"}},
	}
	settings := policy.Settings{Tokens: []string{"news", "bot"}, OnUnavailable: policy.Allow}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, settings.Unrestricted(&tt.access)); diff != "" {
				t.Errorf("%+v (-want +got)\n%s", tt.access, diff)
			}
		})
	}
}

func TestNilRobotsDisallows(t *testing.T) {
	var robots *policy.Robots
	for _, path := range []string{"/", "/robots.txt", ""} {
		if d := robots.Decide([]string{"bot"}, policy.Target{Path: path}); d.Allowed() || d.Reason != policy.ReasonInternal {
			t.Errorf("path %q: got %+v, want disallow", path, d)
		}
	}
}

func TestZeroValuesRefuse(t *testing.T) {
	if (policy.Decision{}).Allowed() {
		t.Error("zero Decision allows")
	}
	if policy.Result(0) != policy.Unreachable {
		t.Error("zero Result is not unreachable")
	}
	for v, want := range map[policy.Verdict]string{0: "disallow", policy.Allow: "allow", policy.Error: "error", 77: "disallow"} {
		if text, err := v.MarshalText(); err != nil || string(text) != want {
			t.Errorf("verdict %d: got %q, %v, want %q", v, text, err, want)
		}
		if (policy.Decision{Verdict: v}).Allowed() != (v == policy.Allow) {
			t.Errorf("verdict %d: Allowed is wrong", v)
		}
	}
}

func TestVerdictText(t *testing.T) {
	for _, want := range []policy.Verdict{policy.Disallow, policy.Allow, policy.Error} {
		got := policy.Verdict(99)
		if err := got.UnmarshalText([]byte(want.String())); err != nil || got != want {
			t.Errorf("UnmarshalText(%s): got %v, %v", want, got, err)
		}
	}
	var v policy.Verdict
	if err := v.UnmarshalText([]byte("Allow")); err == nil || v != policy.Disallow {
		t.Errorf("UnmarshalText(Allow): got %v, %v, want an error", v, err)
	}
	for r, want := range map[policy.Result]string{
		policy.Successful: "successful", policy.Unavailable: "unavailable", policy.Unreachable: "unreachable", 9: "unreachable",
	} {
		if r.String() != want {
			t.Errorf("Result(%d): got %q, want %q", r, r, want)
		}
	}
}
