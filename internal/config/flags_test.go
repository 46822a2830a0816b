package config_test

import (
	"testing"

	"github.com/spf13/pflag"

	"heed/internal/config"
)

func TestEmptyFlagIsAValue(t *testing.T) {
	l := mustLoad(t, sources{env: []string{"HEED_ADMIN_LISTEN=127.0.0.1:9"}, flags: []string{"--admin="}})
	if l.Config.Admin.Listen != "" || l.Source("admin.listen") != "flag --admin" {
		t.Errorf("got %q from %s", l.Config.Admin.Listen, l.Source("admin.listen"))
	}
}

func TestFlagFaults(t *testing.T) {
	for _, c := range []struct {
		flag, key, where string
	}{
		{"--listen=x", "listen", "flag --listen"},
		{"--admin=x", "admin.listen", "flag --admin"},
		{"--agent=", "agent.tokens", "flag --agent"},
		{"-pnone", "matching.profile", "flag --profile"},
		{"--mode=", "mode", "flag --mode"},
	} {
		_, err := load(t, sources{flags: []string{c.flag}})
		wantFault(t, c.flag, err, c.key, c.where, "")
	}
}

func TestRepeatedAgentFlagsAdd(t *testing.T) {
	l := mustLoad(t, sources{flags: []string{"-a", "a,b", "--agent", "c"}})
	if got := l.Config.Agent.Tokens; len(got) != 3 || got[2] != "c" {
		t.Errorf("got %q", got)
	}
}

func TestOnlyOwnFlagsCount(t *testing.T) {
	fset := pflag.NewFlagSet("test", pflag.ContinueOnError)
	config.AddFlags(fset, "mode")
	fset.String("listen", "", "of another command")
	if err := fset.Parse([]string{"--listen=nonsense", "--mode=monitor"}); err != nil {
		t.Fatal(err)
	}
	l, err := config.Load(config.Options{ReadFile: files(nil), Flags: fset})
	if err != nil {
		t.Fatal(err)
	}
	if l.Source("listen") != "default" || l.Config.Mode != "monitor" {
		t.Errorf("listen from %s, mode %s", l.Source("listen"), l.Config.Mode)
	}
	defer func() {
		if recover() == nil {
			t.Error("AddFlags took a flag that does not exist")
		}
	}()
	config.AddFlags(pflag.NewFlagSet("test", pflag.ContinueOnError), "frobnicate")
}
