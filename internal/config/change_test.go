package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func load(t *testing.T, file string) Config {
	t.Helper()
	l, err := Load(Options{Path: "c.yaml", ReadFile: func(string) ([]byte, error) { return []byte(file), nil }})
	if err != nil {
		t.Fatal(err)
	}
	return l.Config
}

func TestChanges(t *testing.T) {
	before := load(t, "")
	for _, tc := range []struct {
		name, file string
		want       []Change
	}{
		{"nothing", "", nil},
		{"written, and as it is by default", "mode: enforce\nclients: []\negress: {deny: []}", nil},
		{"a word", "mode: monitor", []Change{{"mode", "enforce", "monitor", false}}},
		{"a list", "agent: {tokens: [a, b]}", []Change{{"agent.tokens", "[heed]", "[a, b]", false}}},
		{"a number and a time", "limits: {connections: 5, shutdown_grace: 1m}",
			[]Change{{"limits.connections", "10000", "5", false}, {"limits.shutdown_grace", "30s", "1m", false}}},
		{"objects", `overrides: [{host: a.example, action: deny, reason: why}]`,
			[]Change{{"overrides", "[]", "[{host: a.example, action: deny, reason: why}]", false}}},
		{"a restart", "listen: 127.0.0.1:1", []Change{{"listen", "127.0.0.1:8080", "127.0.0.1:1", true}}},
		{"a secret", "admin: {token: s3cret}", []Change{{"admin.token", `""`, `"` + mask + `"`, true}}},
		{"a secret in a URL", "egress: {proxy: http://me:s3cret@p.example:1}",
			[]Change{{"egress.proxy", `""`, "http://" + mask + "@p.example:1", false}}},
	} {
		if diff := cmp.Diff(tc.want, load(t, tc.file).Changes(before)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tc.name, diff)
		}
	}
	if got := load(t, "admin: {token: one}").Changes(load(t, "admin: {token: two}")); len(got) != 1 {
		t.Errorf("a secret for another: %v", got)
	}
}

// What needs a restart stays as it was, all else is taken over.
func TestRunning(t *testing.T) {
	started := load(t, "listen: 127.0.0.1:1\nlimits: {idle_timeout: 7s}\nmode: monitor")
	file := load(t, "listen: 127.0.0.1:2\nlimits: {idle_timeout: 9s, connections: 3}\nadmin: {token: x}")
	got := file.Running(started)
	if got.Listen != started.Listen || got.Limits.IdleTimeout != 7*time.Second || got.Admin.Token != "" || got.Limits.Connections != 3 || got.Mode != "enforce" {
		t.Errorf("%+v", got)
	}
	if file.Listen != "127.0.0.1:2" {
		t.Error("the configuration that was asked has changed")
	}
	for _, c := range file.Running(started).Changes(started) {
		if c.Restart {
			t.Errorf("%s has changed", c.Key)
		}
	}
	if _, faults := got.Validate(); len(faults) > 0 {
		t.Error(faults)
	}
}
