package config_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heed/internal/config"
)

// FuzzLoad: whatever the bytes, Load returns faults or a valid configuration that
// shows and loads again as the same.
func FuzzLoad(f *testing.F) {
	shipped, err := os.ReadFile("../../config.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(shipped, "bot")
	f.Add([]byte("mode: &a [*a]"), "a: b #c")
	f.Add([]byte("<<: {robots: {ttl: 1h}}\n---\n? [a]\n: b"), `"x`)
	f.Add([]byte("egress: {allow: [::1/0, 10.0.0.1]}\nlog: !!map {level: !!str info}"), "\x00\xff")
	f.Fuzz(func(t *testing.T, file []byte, variable string) {
		l, err := config.Load(config.Options{
			ReadFile: files(map[string]string{"config.yaml": string(file)}),
			Environ:  []string{"HEED_AGENT_USER_AGENT=" + variable, "HEED_EGRESS_DENY=" + variable, "HEED_" + variable + "=1"},
		})
		if err != nil {
			if len(faultsOf(t, err)) == 0 || err.Error() == "" {
				t.Fatalf("an error without faults: %v", err)
			}
			return
		}
		if _, faults := l.Config.Validate(); len(faults) > 0 {
			t.Fatalf("loaded, but invalid: %v", faults)
		}
		shown := l.YAML()
		if l.Config.Admin.Token != "" {
			return // masked, so it differs
		}
		again, err := config.Load(config.Options{ReadFile: files(map[string]string{"config.yaml": shown})})
		if err != nil {
			t.Fatalf("shown configuration does not load: %v\n%s", err, shown)
		}
		if d := cmp.Diff(l.Config, again.Config, sameConfig); d != "" {
			t.Fatalf("shown configuration loads differently:\n%s\n%s", d, shown)
		}
	})
}
