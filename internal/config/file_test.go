package config_test

import (
	"strings"
	"testing"

	"heed/internal/config"
)

// TestFileFaults lists the traps of a YAML file, each with its line.
func TestFileFaults(t *testing.T) {
	for _, c := range []struct {
		name, file, key string
		line            string
		part            string
	}{
		{"unknown key", "\nmoed: monitor", "moed", "2", "did you mean mode?"},
		{"unknown key in a section", "robots:\n  timeot: 5s", "robots.timeot", "2", "did you mean timeout?"},
		{"key of another section", "ttl: 5s", "ttl", "1", "did you mean robots.ttl?"},
		{"unknown section", "robotz:\n  timeout: 5s", "robotz", "1", "did you mean robots?"},
		{"nothing like it", "frobnicate: 1", "frobnicate", "1", "unknown key (allowed: listen, tls, admin, mode"},
		{"a setting that does not exist yet", "limits: {streams: 10}", "limits.streams", "1", "unknown key"},
		{"duplicate key", "mode: enforce\nlisten: :1\nmode: monitor", "mode", "3", "first on line 1"},
		{"duplicate section", "log: {level: info}\nlog: {level: warn}", "log", "2", "first on line 1"},
		{"upper case", "MODE: monitor", "MODE", "1", "keys are lower case; did you mean mode?"},
		{"upper case beside the real one", "mode: enforce\nMODE: monitor", "MODE", "2", "keys are lower case"},
		{"camel case", "robots: {maxSize: 1MiB}", "robots.maxSize", "1", "did you mean max_size?"},
		{"upper case section", "Robots: {ttl: 1h}", "Robots", "1", "did you mean robots?"},
		{"dotted key", "robots.timeout: 5s", "robots.timeout", "1", "write robots: on a line of its own"},
		{"empty key", `"": 5`, "", "1", "unknown key"},
		{"list as key", "[a]: 5", "", "1", "a list where the name of a key is expected"},
		{"number without unit", "robots:\n  timeout: 30", "robots.timeout", "2", "a number without a unit"},
		{"number without unit in quotes", `robots: {timeout: "30"}`, "robots.timeout", "1", "a number without a unit"},
		{"zero without unit in quotes", `robots: {timeout: "0"}`, "robots.timeout", "1", "a number without a unit"},
		{"fraction without unit", "robots: {timeout: 1.5}", "robots.timeout", "1", "a number without a unit"},
		{"days", "robots: {timeout: 1d}", "robots.timeout", "1", "units are ms, s, m and h"},
		{"size without unit", "robots: {max_size: 524288}", "robots.max_size", "1", "a number without a unit"},
		{"boolean as duration", "robots: {timeout: true}", "robots.timeout", "1", "true or false where a number with a unit"},
		{"list where a scalar is", "mode: [enforce]", "mode", "1", "a list where text is expected"},
		{"section where a scalar is", "mode: {a: b}", "mode", "1", "a section where text is expected"},
		{"scalar where a list is", "agent: {tokens: heed}", "agent.tokens", "1", "text where a list is expected"},
		{"scalar where a section is", "\nrobots: 5", "robots", "2", "a number where keys with values are expected"},
		{"null", "mode: null", "mode", "1", "null where text is expected"},
		{"tilde", "https: {ca_dir: ~}", "https.ca_dir", "1", "null where text is expected"},
		{"no value", "mode:", "mode", "1", "nothing where text is expected"},
		{"null list", "egress: {allow: null}", "egress.allow", "1", "null where a list is expected"},
		{"null in a list", "agent: {tokens: [a, null]}", "agent.tokens", "1", "item 2: null where text"},
		{"null section", "robots: null", "robots", "1", "null where keys with values are expected"},
		{"number as text", "audit: {path: 2024}", "audit.path", "1", "put it in quotes"},
		{"text as boolean", `https: {http2: "true"}`, "https.http2", "1", "text where true or false is expected"},
		{"yes", "https: {http2: yes}", "https.http2", "1", "true or false"},
		{"text as number", `robots: {max_redirects: "5"}`, "robots.max_redirects", "1", "a whole number"},
		{"fraction as number", "robots: {max_redirects: 5.5}", "robots.max_redirects", "1", "a whole number"},
		{"number beyond 64 bits", "robots: {max_origins: 18446744073709551615}", "robots.max_origins", "1", "a whole number"},
		{"anchor", "mode: &m enforce", "", "1", "the anchor &m is not supported"},
		{"merge key", "log:\n  <<: {level: info}", "", "2", "the merge key << is not supported"},
		{"second document", "mode: enforce\n---\nmode: monitor", "", "2", "a second document"},
		{"list at the top", "- mode", "", "1", "a list where keys"},
		{"text at the top", "enforce", "", "1", "text where keys"},
		{"not YAML", "mode: enforce\nlisten: [", "", "2", "not YAML"},
		{"foreign tag", "mode: !x enforce", "mode", "1", "the tag !x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, sources{file: c.file})
			wantFault(t, c.file, err, c.key, "file config.yaml:"+c.line, c.part)
		})
	}
}

func TestAlias(t *testing.T) {
	_, err := load(t, sources{file: "mode: &m enforce\nlog: {level: *m}"})
	faults := faultsOf(t, err)
	if len(faults) != 2 || !strings.Contains(faults[1].Problem, "alias *m") || faults[1].Where != "file config.yaml:2" {
		t.Errorf("got %v", err)
	}
}

func TestFilesThatSetNothing(t *testing.T) {
	for _, file := range []string{"", "\n", "# only a comment\n", "---\n", "{}", "robots:\n", "robots:\n  # ttl: 1h\nlog:\n"} {
		l, err := load(t, sources{file: file})
		if err != nil {
			t.Errorf("%q: %v", file, err)
			continue
		}
		for _, k := range config.Keys() {
			if l.Source(k) != "default" {
				t.Errorf("%q: %s comes from %s", file, k, l.Source(k))
			}
		}
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	_, err := load(t, sources{
		file:  "moed: x\nrobots:\n  timeout: 30\n  max_redirects: 1\nadmin: {listen: \"0.0.0.0:9\"}\n",
		env:   []string{"HEED_LOG_LEVEL=loud"},
		flags: []string{"--mode", "off"},
	})
	var got []string
	for _, f := range faultsOf(t, err) {
		got = append(got, f.Key+" "+f.Value+" "+f.Where)
	}
	want := []string{
		"moed  file config.yaml:1", "robots.timeout 30 file config.yaml:3", "robots.max_redirects 1 file config.yaml:4",
		"log.level loud environment HEED_LOG_LEVEL", "mode off flag --mode", "admin.token  default",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 7 || lines[0] != "configuration: 6 faults" ||
		lines[2] != "  file config.yaml:3: robots.timeout = 30: a number without a unit (allowed: a duration above 0 with its unit, such as 500ms, 30s or 2h)" {
		t.Errorf("message:\n%v", err)
	}
}

// A value that was refused leaves its default behind; that default must not be
// blamed for anything.
func TestNoFaultsThatFollowFromFaults(t *testing.T) {
	for _, c := range []struct{ name, file, key string }{
		{"token of the wrong type", "admin:\n  listen: 0.0.0.0:9\n  token: 12345", "admin.token"},
		{"listen of the wrong type", "listen: [x]\nadmin: {listen: \"127.0.0.1:8080\"}", "listen"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, sources{file: c.file})
			if f := faultsOf(t, err); len(f) != 1 || f[0].Key != c.key {
				t.Errorf("%q: got %v, want one fault of %s", c.file, err, c.key)
			}
		})
	}
}
