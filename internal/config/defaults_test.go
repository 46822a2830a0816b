package config_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"heed/internal/config"
)

func TestDefaultsAreValid(t *testing.T) {
	l := mustLoad(t, sources{})
	if len(l.Warnings) != 0 {
		t.Errorf("warnings: %q", l.Warnings)
	}
	want := config.Config{
		Listen:   "127.0.0.1:8080",
		Admin:    config.Admin{Listen: "127.0.0.1:8081"},
		Mode:     "enforce",
		Agent:    config.Agent{Tokens: []string{"heed"}, Rewrite: "never"},
		Matching: config.Matching{Profile: "rfc9309"},
		Robots: config.Robots{
			Timeout: 10 * time.Second, MaxSize: 512 << 10, MaxRedirects: 5, TTL: 24 * time.Hour,
			MinTTL: time.Minute, ErrorTTL: 30 * time.Second, StaleFor: 720 * time.Hour, OnUnreachable: "disallow", OnUnavailable: "allow",
			MaxOrigins: 100000, MaxMemory: 256 << 20, MaxFetches: 256, MaxWaiting: 1000, Store: "memory:", StoreTimeout: 250 * time.Millisecond,
		},
		HTTPS: config.HTTPS{Mode: "intercept", TunnelPolicy: "unrestricted", HTTP2: true},
		Egress: config.Egress{
			DialTimeout: 10 * time.Second, ResponseHeaderTimeout: time.Minute, IdleTimeout: 90 * time.Second,
		},
		Refusal: config.Refusal{UnreachableStatus: 403},
		Limits: config.Limits{
			HeaderBytes: 1 << 20, HeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, Connections: 10000, ShutdownGrace: 30 * time.Second,
		},
		Audit: config.Audit{Path: "-", Events: "all", Query: "keep", Client: "keep", Chain: true, Rotate: config.Rotate{Compress: true}},
		Log:   config.Log{Level: "info", Format: "text"},
	}
	if d := cmp.Diff(want, l.Config, sameConfig); d != "" {
		t.Errorf("defaults (-want +got):\n%s", d)
	}
}

func TestShippedFile(t *testing.T) {
	data, err := os.ReadFile("../../config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shipped := mustLoad(t, sources{file: string(data)})
	if d := cmp.Diff(mustLoad(t, sources{}).Config, shipped.Config, sameConfig); d != "" {
		t.Errorf("config.yaml differs from the defaults (-default +file):\n%s", d)
	}
	for _, k := range config.Keys() {
		if !strings.HasPrefix(shipped.Source(k), "file config.yaml:") {
			t.Errorf("config.yaml does not list %s", k)
		}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if got := leaves("", doc.Content[0]); !slices.Equal(got, config.Keys()) {
		t.Errorf("order of the keys in config.yaml:\n got %q\nwant %q", got, config.Keys())
	}
}

func leaves(path string, n *yaml.Node) []string {
	var names []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := path + n.Content[i].Value
		if v := n.Content[i+1]; v.Kind == yaml.MappingNode {
			names = append(names, leaves(name+".", v)...)
		} else {
			names = append(names, name)
		}
	}
	return names
}

func TestCommandDefaults(t *testing.T) {
	o := config.Options{
		ReadFile: files(map[string]string{"config.yaml": "mode: monitor"}),
		Defaults: map[string]string{"listen": "127.0.0.1:0", "mode": "enforce", "audit.path": ""},
	}
	l, err := config.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	if l.Config.Listen != "127.0.0.1:0" || l.Config.Audit.Path != "" || l.Config.Mode != "monitor" || l.Source("listen") != "default" {
		t.Errorf("got %+v, listen from %q", l.Config, l.Source("listen"))
	}
	o.Defaults = map[string]string{"lisen": "x"}
	_, err = config.Load(o)
	wantFault(t, o.Defaults, err, "lisen", "default", "unknown key")
}

func TestZeroConfigIsInvalid(t *testing.T) {
	_, faults := config.Config{}.Validate()
	if len(faults) < 10 {
		t.Errorf("the zero Config has only these faults: %v", faults)
	}
	before := mustLoad(t, sources{}).Config
	after := before
	after.Validate()
	if d := cmp.Diff(before, after, sameConfig); d != "" {
		t.Errorf("Validate changed the configuration:\n%s", d)
	}
}
