package config_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heed/internal/config"
)

const accessFile = `auth: {users_file: users}
clients:
  - {user: alice, networks: [10.0.0.0/8], tokens: [newsbot], profile: rfc9309, mode: monitor}
  - networks: ["::1"]
overrides:
  - host: "*.example.org:8443"
    action: robots
    robots_file: agreed.txt
    tokens: [otherbot]
    reason: "contract: 17"
    expires: 2999-01-31
  - {host: "*", action: deny, reason: out of scope}
`

func TestListsOfObjects(t *testing.T) {
	l := mustLoad(t, sources{file: accessFile})
	want := []config.Client{
		{User: "alice", Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Tokens: []string{"newsbot"}, Profile: "rfc9309", Mode: "monitor"},
		{Networks: []netip.Prefix{netip.MustParsePrefix("::1/128")}},
	}
	if d := cmp.Diff(want, l.Config.Clients, sameConfig); d != "" {
		t.Errorf("clients (-want +got):\n%s", d)
	}
	overrides := []config.Override{
		{Host: "*.example.org:8443", Action: "robots", RobotsFile: "agreed.txt", Tokens: []string{"otherbot"}, Reason: "contract: 17",
			Expires: time.Date(2999, 1, 31, 0, 0, 0, 0, time.UTC)},
		{Host: "*", Action: "deny", Reason: "out of scope"},
	}
	if d := cmp.Diff(overrides, l.Config.Overrides, sameConfig); d != "" {
		t.Errorf("overrides (-want +got):\n%s", d)
	}
	if l.Source("clients") != "file config.yaml:3" || len(l.Warnings) != 0 {
		t.Errorf("source %q, warnings %q", l.Source("clients"), l.Warnings)
	}
	again := mustLoad(t, sources{file: l.YAML()})
	if d := cmp.Diff(l.Config, again.Config, sameConfig); d != "" {
		t.Errorf("the shown configuration loads differently:\n%s\n%s", d, l.YAML())
	}
}

func TestFaultsOfObjects(t *testing.T) {
	cases := []struct{ name, file, key, line, part string }{
		{"not a list", "clients: {user: a}", "clients", "1", "a section where a list is expected"},
		{"not an object", "overrides:\n  - x", "overrides[1]", "2", "text where keys with values are expected"},
		{"unknown key", "overrides:\n- host: h.example\n  acton: deny", "overrides[1].acton", "3", "did you mean action?"},
		{"key given twice", "clients:\n- networks: []\n  networks: []", "clients[1].networks", "3", "given twice"},
		{"upper case", "clients:\n- Networks: [10.0.0.0/8]", "clients[1].Networks", "2", "unknown key"},
		{"a network that is none", "clients:\n- user: a\n  networks: [10.0.0.1/8]", "clients[1].networks", "3", "bits beyond its prefix"},
		{"a mode that is none", "clients:\n- networks: [10.0.0.0/8]\n  mode: off", "clients[1].mode", "3", "not a known value"},
		{"a profile that is none", "clients:\n- networks: [10.0.0.0/8]\n  profile: loose", "clients[1].profile", "3", "not a known value"},
		{"a client that is everybody", "clients:\n- mode: monitor", "clients[1]", "2", "would apply to everybody"},
		{"a user where nobody has a name", "clients:\n- user: a", "clients", "2", "auth.users_file is empty"},
		{"no reason", "overrides:\n- host: h.example\n  action: deny", "overrides[1].reason", "2", "missing"},
		{"a blank reason", "overrides:\n- {host: h.example, action: deny, reason: \" \"}", "overrides[1].reason", "2", "missing"},
		{"no action", "overrides:\n- host: h.example\n  reason: r", "overrides[1].action", "2", "missing"},
		{"no host", "overrides:\n- action: deny\n  reason: r", "overrides[1].host", "2", "missing"},
		{"a host that is none", "overrides:\n- host: http://h.example\n  action: deny\n  reason: r", "overrides[1].host", "2", "holds a slash"},
		{"a star inside", "overrides:\n- {host: \"a.*.example\", action: deny, reason: r}", "overrides[1].host", "2", "has a *"},
		{"robots with nothing", "overrides:\n- {host: \"*\", action: robots, reason: r}", "overrides[1].robots_file", "2", "missing"},
		{"deny with tokens", "overrides:\n- {host: \"*\", action: deny, tokens: [a], reason: r}", "overrides[1].action", "2", "have no part in deny"},
		{"a date that is none", "overrides:\n- {host: \"*\", action: deny, reason: r, expires: 2027-02-30}", "overrides[1].expires", "2", "not a date"},
		{"a moment", "overrides:\n- {host: \"*\", action: deny, reason: r, expires: 2027-02-20T10:00:00Z}", "overrides[1].expires", "2", "not a date"},
		{"a port that is none", "https: {connect_ports: [443, 70000]}", "https.connect_ports", "1", "70000 is not a port"},
		{"a port that is text", "https: {connect_ports: [https]}", "https.connect_ports", "1", "text where a whole number"},
		{"a proxy of another kind", "egress: {proxy: \"ftp://h.example\"}", "egress.proxy", "1", "not a known kind of proxy"},
		{"a proxy with a path", "egress: {proxy: \"http://h.example/x\"}", "egress.proxy", "1", "has no path"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, sources{file: c.file})
			wantFault(t, c.file, err, c.key, "file config.yaml:"+c.line, c.part)
		})
	}
}

func TestObjectsAreFileOnly(t *testing.T) {
	l := mustLoad(t, sources{env: []string{"HEED_CLIENTS=[]", "HEED_HTTPS_CONNECT_PORTS=443, 8443"}})
	if len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0], "can only be set in the file") {
		t.Errorf("warnings %q", l.Warnings)
	}
	if d := cmp.Diff([]int{443, 8443}, l.Config.HTTPS.ConnectPorts); d != "" || !strings.Contains(l.YAML(), "connect_ports: [443, 8443] #") {
		t.Errorf("ports: %s\n%s", d, l.YAML())
	}
}

func TestExpiredOverrideIsReported(t *testing.T) {
	l := mustLoad(t, sources{file: "overrides:\n- {host: h.example, action: allow, reason: r, expires: 2020-01-31}"})
	if len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0], "overrides[1] (allow h.example): expired on 2020-01-31 and is ignored") {
		t.Errorf("warnings %q", l.Warnings)
	}
	today := time.Now().UTC().Format(time.DateOnly)
	l = mustLoad(t, sources{file: "overrides:\n- {host: h.example, action: allow, reason: r, expires: " + today + "}"})
	if len(l.Warnings) != 0 && time.Now().UTC().Format(time.DateOnly) == today {
		t.Errorf("on the last day: warnings %q", l.Warnings)
	}
}

func TestProxyCredentialsAreNotShown(t *testing.T) {
	const secret = "p@ss:hunter2"
	l := mustLoad(t, sources{env: []string{"HEED_EGRESS_PROXY=http://user:" + secret + "@proxy.example:3128"}})
	if y := l.YAML(); strings.Contains(y, "hunter2") || !strings.Contains(y, "@proxy.example:3128") {
		t.Errorf("shown:\n%s", y)
	}
	_, err := load(t, sources{env: []string{"HEED_EGRESS_PROXY=ftp://user:" + secret + "@proxy.example"}})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("fault: %v", err)
	}
}
