package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heed/internal/config"
)

func TestShow(t *testing.T) {
	l := mustLoad(t, sources{
		file:  "robots:\n  timeout: 90s\n",
		env:   []string{"HEED_EGRESS_ALLOW=10.0.0.0/8,::1", "HEED_AGENT_USER_AGENT=a: b #c"},
		flags: []string{"--mode=monitor"},
	})
	got := l.YAML()
	for _, want := range []string{
		"listen: 127.0.0.1:8080 # default\n",
		"admin:\n  listen: 127.0.0.1:8081 # default\n  token: \"\" # default\n",
		"\nmode: monitor # flag --mode\n",
		"  user_agent: \"a: b #c\" # environment HEED_AGENT_USER_AGENT\n",
		"robots:\n  timeout: 1m30s # file config.yaml:2\n",
		"  max_size: 512KiB # default\n",
		"  ttl: 24h # default\n",
		"  allow: [10.0.0.0/8, \"::1\"] # environment HEED_EGRESS_ALLOW\n",
		"  deny: [] # default\n",
		"  http2: true # default\n",
		"  path: \"-\" # default\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	again := mustLoad(t, sources{file: got})
	if d := cmp.Diff(l.Config, again.Config, sameConfig); d != "" {
		t.Errorf("the shown configuration loads differently:\n%s\n%s", d, got)
	}
}

func TestShownTextLoadsAgain(t *testing.T) {
	for _, ua := range []string{"true", "null", "~", "12", "1e3", "2024-01-01", "a, b", "[x]", "*x", "&x", "- x", `"q"`, "it's", "a\\b", "é", "<<", "=", "a:", "#", "{", "%"} {
		fixed := config.Loaded{Config: mustLoad(t, sources{}).Config}
		fixed.Config.Agent.UserAgent = ua
		fixed.Config.HTTPS.CADir = ua
		if got := mustLoad(t, sources{file: fixed.YAML()}).Config; got.Agent.UserAgent != ua || got.HTTPS.CADir != ua {
			t.Errorf("%q came back as %q and %q", ua, got.Agent.UserAgent, got.HTTPS.CADir)
		}
	}
}

func TestSecretsAreMasked(t *testing.T) {
	const secret = "hunter2-hunter2"
	l := mustLoad(t, sources{file: "admin: {token: " + secret + "}"})
	if l.Config.Admin.Token != secret {
		t.Errorf("the token itself is %q", l.Config.Admin.Token)
	}
	if y := l.YAML(); strings.Contains(y, secret) || !strings.Contains(y, `token: "********" # file config.yaml:1`) {
		t.Errorf("shown:\n%s", y)
	}
	for _, s := range []sources{
		{file: "admin: {token: " + secret + " x}"},
		{file: "admin: {token: [" + secret + "]}"},
		{file: "admin: {token: {" + secret + ": 1}}"},
		{file: "admin: {token: \"" + secret + "\\n\"}"},
		{file: "admin: {tokn: " + secret + "}"},
		{file: "admin: " + secret},
		{file: "admin.token: " + secret},
		{env: []string{"HEED_ADMIN_TOKEN=" + secret + "\n" + secret}},
		{env: []string{"HEED_ADMIN_TOKEN=" + secret + " x"}},
	} {
		_, err := load(t, s)
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	l = mustLoad(t, sources{env: []string{"HEED_ADMIN_TOKN=" + secret}})
	if strings.Contains(strings.Join(l.Warnings, "\n"), secret) {
		t.Errorf("warnings: %q", l.Warnings)
	}
}

func TestKeysAndSettingsAgree(t *testing.T) {
	l := mustLoad(t, sources{})
	keys, settings := config.Keys(), l.Settings()
	if len(keys) != len(settings) {
		t.Fatalf("%d keys, %d settings", len(keys), len(settings))
	}
	for i, s := range settings {
		if s.Key != keys[i] || s.Value == nil || s.Source == "" {
			t.Errorf("setting %d of key %s: %+v", i, keys[i], s)
		}
	}
	if l.Source("no.such.key") != "" {
		t.Error("an unknown key has a source")
	}
}

func TestFaultsCannotForgeLines(t *testing.T) {
	_, err := load(t, sources{file: "\"a\\nerror: forged\": 1\nmode: \"x\\n\\e[31m\""})
	if err == nil || strings.Count(err.Error(), "\n") != 2 || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("got %q", err)
	}
}

func TestPasswordsOfStoresAreMasked(t *testing.T) {
	for url, want := range map[string]string{
		"redis://127.0.0.1:6379/1":                                      "redis://127.0.0.1:6379/1",
		"redis://user@redis.internal:6379":                              "redis://user@redis.internal:6379",
		"rediss://user:hunter2@redis.internal:6379":                     "rediss://user:********@redis.internal:6379",
		"redis://:hunter2@[::1]:6379/0":                                 "redis://:********@[::1]:6379/0",
		"redis://s1:26379?master_name=m&sentinel_password=hunter2&db=1": "redis://s1:26379?master_name=m&sentinel_password=********&db=1",
	} {
		l := mustLoad(t, sources{file: "robots: {store: \"" + url + "\"}"})
		if l.Config.Robots.Store != url {
			t.Errorf("the store itself is %q", l.Config.Robots.Store)
		}
		for _, s := range l.Settings() {
			if s.Key == "robots.store" && s.Value != want {
				t.Errorf("%s is shown as %q, want %q", url, s.Value, want)
			}
		}
	}
	_, err := load(t, sources{file: `robots: {store: "redis://user:hunter2@:bad:port"}`})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a fault tells the password: %v", err)
	}
}
