package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"heed/internal/config"
)

func TestPrecedence(t *testing.T) {
	const file = "\nmode: monitor\nlisten: 127.0.0.1:1111\nagent: {tokens: [filebot, other]}\n"
	env := []string{"HEED_MODE=monitor", "HEED_LISTEN=127.0.0.1:2222", "HEED_AGENT_TOKENS=envbot"}
	for _, c := range []struct {
		name, mode, listen, token       string
		modeFrom, listenFrom, tokenFrom string
		sources
	}{
		{"defaults alone", "enforce", "127.0.0.1:8080", "heed", "default", "default", "default", sources{}},
		{
			"file beats defaults", "monitor", "127.0.0.1:1111", "filebot",
			"file config.yaml:2", "file config.yaml:3", "file config.yaml:4",
			sources{file: file},
		},
		{
			"environment beats file", "monitor", "127.0.0.1:2222", "envbot",
			"environment HEED_MODE", "environment HEED_LISTEN", "environment HEED_AGENT_TOKENS",
			sources{file: file, env: env},
		},
		{
			"flags beat environment", "enforce", "127.0.0.1:3333", "flagbot",
			"flag --mode", "flag --listen", "flag --agent",
			sources{file, env, []string{"--mode", "enforce", "--listen=127.0.0.1:3333", "-a", "flagbot,second"}},
		},
		{
			"key by key", "monitor", "127.0.0.1:2222", "flagbot",
			"file config.yaml:2", "environment HEED_LISTEN", "flag --agent",
			sources{file, env[1:2], []string{"-a", "flagbot"}},
		},
		{
			"environment beats defaults without a file", "monitor", "127.0.0.1:2222", "envbot",
			"environment HEED_MODE", "environment HEED_LISTEN", "environment HEED_AGENT_TOKENS",
			sources{env: env},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := mustLoad(t, c.sources)
			got := []string{l.Config.Mode, l.Config.Listen, l.Config.Agent.Tokens[0], l.Source("mode"), l.Source("listen"), l.Source("agent.tokens")}
			want := []string{c.mode, c.listen, c.token, c.modeFrom, c.listenFrom, c.tokenFrom}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("got %q\nwant %q", got, want)
					break
				}
			}
		})
	}
}

func TestListsAreReplacedNotJoined(t *testing.T) {
	l := mustLoad(t, sources{file: "agent: {tokens: [a, b, c]}", env: []string{"HEED_AGENT_TOKENS=d"}})
	if got := l.Config.Agent.Tokens; len(got) != 1 || got[0] != "d" {
		t.Errorf("got %q, want [d]", got)
	}
}

func TestWhichFile(t *testing.T) {
	all := map[string]string{"config.yaml": "mode: monitor", "/etc/heed/config.yaml": "log: {level: debug}", "mine.yaml": "log: {level: error}"}
	for _, c := range []struct {
		name, given, remove, path, level string
	}{
		{"the given file", "mine.yaml", "", "mine.yaml", "error"},
		{"the working directory first", "", "", "config.yaml", "info"},
		{"then /etc", "", "config.yaml", "/etc/heed/config.yaml", "debug"},
	} {
		t.Run(c.name, func(t *testing.T) {
			have := map[string]string{}
			for k, v := range all {
				if k != c.remove {
					have[k] = v
				}
			}
			l, err := config.Load(config.Options{Path: c.given, ReadFile: files(have)})
			if err != nil {
				t.Fatal(err)
			}
			if l.Path != c.path || l.Config.Log.Level != c.level {
				t.Errorf("got %s with level %s, want %s with %s", l.Path, l.Config.Log.Level, c.path, c.level)
			}
		})
	}
	l, err := config.Load(config.Options{ReadFile: files(nil)})
	if err != nil || l.Path != "" {
		t.Errorf("no file at all: got %+v, %v", l, err)
	}
}

func TestGivenFileMustBeReadable(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, make([]byte, 5<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, problem string }{
		{filepath.Join(dir, "missing.yaml"), ""},
		{dir, ""},
		{large, "larger than 4MiB"},
	} {
		// The missing file may hold the token, so its absence is the only fault.
		_, err := config.Load(config.Options{Path: c.path, Environ: []string{"HEED_ADMIN_LISTEN=0.0.0.0:1"}})
		wantFault(t, c.path, err, "", "file "+c.path, c.problem)
	}
	good := filepath.Join(dir, "good.yaml")
	if err := os.WriteFile(good, []byte("mode: monitor\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := config.Load(config.Options{Path: good})
	if err != nil || l.Source("mode") != "file "+good+":1" {
		t.Errorf("got %+v, %v", l, err)
	}
}
