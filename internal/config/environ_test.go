package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEnvironmentValues shows each value as `heed config show` would.
func TestEnvironmentValues(t *testing.T) {
	for _, c := range []struct {
		name, env, key string
		want           any
	}{
		{"text", "HEED_MODE=monitor", "mode", "monitor"},
		{"dots are underscores", "HEED_ROBOTS_MAX_SIZE=1MiB", "robots.max_size", "1MiB"},
		{"duration", "HEED_ROBOTS_TIMEOUT=1m30s", "robots.timeout", "1m30s"},
		{"number", "HEED_ROBOTS_MAX_REDIRECTS=7", "robots.max_redirects", 7},
		{"boolean", "HEED_HTTPS_HTTP2=false", "https.http2", false},
		{"space around", "HEED_MODE= monitor ", "mode", "monitor"},
		{"quotes", `HEED_MODE="monitor"`, "mode", "monitor"},
		{"single quotes", `HEED_AGENT_USER_AGENT='a: b'`, "agent.user_agent", "a: b"},
		{"digits are text where text is meant", "HEED_AUDIT_PATH=0123", "audit.path", "0123"},
		{"true is text where text is meant", "HEED_AUDIT_PATH=true", "audit.path", "true"},
		{"a dash", "HEED_AUDIT_PATH=-", "audit.path", "-"},
		{"a colon and a space", "HEED_AGENT_USER_AGENT=a: b", "agent.user_agent", "a: b"},
		{"a hash", "HEED_AGENT_USER_AGENT=bot/1 #2", "agent.user_agent", "bot/1 #2"},
		{"a leading at", "HEED_AGENT_USER_AGENT=@bot", "agent.user_agent", "@bot"},
		{"brackets of an IPv6 address", "HEED_LISTEN=[::1]:8080", "listen", "[::1]:8080"},
		{"an equals sign", "HEED_AGENT_USER_AGENT=a=b", "agent.user_agent", "a=b"},
		{"empty text", "HEED_ADMIN_LISTEN=", "admin.listen", ""},
		{"empty audit path", "HEED_AUDIT_PATH=", "audit.path", ""},
		{"list", "HEED_AGENT_TOKENS=a,b", "agent.tokens", []string{"a", "b"}},
		{"list is trimmed", "HEED_AGENT_TOKENS= a , b ", "agent.tokens", []string{"a", "b"}},
		{"list of one", "HEED_AGENT_TOKENS=a", "agent.tokens", []string{"a"}},
		{"networks", "HEED_EGRESS_ALLOW=10.0.0.0/8, ::1", "egress.allow", []string{"10.0.0.0/8", "::1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := mustLoad(t, sources{env: []string{c.env}})
			for _, s := range l.Settings() {
				if s.Key != c.key {
					continue
				}
				if d := cmp.Diff(c.want, s.Value); d != "" {
					t.Errorf("%s (-want +got):\n%s", c.env, d)
				}
			}
		})
	}
}

func TestEmptyVariableClearsTheFilesList(t *testing.T) {
	l := mustLoad(t, sources{file: "egress: {allow: [10.0.0.0/8]}", env: []string{"HEED_EGRESS_ALLOW="}})
	if len(l.Config.Egress.Allow) != 0 || l.Source("egress.allow") != "environment HEED_EGRESS_ALLOW" {
		t.Errorf("got %v from %s", l.Config.Egress.Allow, l.Source("egress.allow"))
	}
}

func TestEnvironmentFaults(t *testing.T) {
	for _, c := range []struct{ name, env, key, part string }{
		{"number without unit", "HEED_ROBOTS_TIMEOUT=30", "robots.timeout", "a number without a unit"},
		{"empty duration", "HEED_ROBOTS_TIMEOUT=", "robots.timeout", "nothing where a number with a unit"},
		{"empty number", "HEED_ROBOTS_MAX_REDIRECTS=", "robots.max_redirects", "nothing where a whole number"},
		{"empty boolean", "HEED_HTTPS_HTTP2=", "https.http2", "nothing where true or false"},
		{"empty choice", "HEED_MODE=", "mode", "not a known value (allowed: enforce or monitor)"},
		{"empty tokens", "HEED_AGENT_TOKENS=", "agent.tokens", "empty"},
		{"blank tokens", "HEED_AGENT_TOKENS=  ", "agent.tokens", "empty"},
		{"empty item", "HEED_AGENT_TOKENS=a,,b", "agent.tokens", "does not begin with a product token"},
		{"empty network", "HEED_EGRESS_DENY=10.0.0.0/8,", "egress.deny", "item 2"},
		{"null", "HEED_MODE=null", "mode", "null where text"},
		{"boolean as 1", "HEED_HTTPS_HTTP2=1", "https.http2", "a number where true or false"},
		{"control character", "HEED_AGENT_USER_AGENT=a\nb", "agent.user_agent", "control character"},
		{"not UTF-8", "HEED_AGENT_USER_AGENT=a\xff", "agent.user_agent", "not UTF-8"},
		{"list for a text", "HEED_MODE=[enforce]", "mode", "not a known value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, sources{env: []string{c.env}})
			name, _, _ := strings.Cut(c.env, "=")
			wantFault(t, c.env, err, c.key, "environment "+name, c.part)
		})
	}
}

func TestUnknownVariables(t *testing.T) {
	for _, c := range []struct{ name, env, warning string }{
		{"misspelt", "HEED_MDOE=monitor", "environment HEED_MDOE: unknown variable; did you mean HEED_MODE?"},
		{"misspelt in a section", "HEED_ROBOTS_MAXSIZE=1MiB", "environment HEED_ROBOTS_MAXSIZE: unknown variable; did you mean HEED_ROBOTS_MAX_SIZE?"},
		{"without its section", "HEED_MAX_SIZE=1MiB", "environment HEED_MAX_SIZE: unknown variable; did you mean HEED_ROBOTS_MAX_SIZE?"},
		{"lower case", "HEED_mode=monitor", "environment HEED_mode: unknown variable; did you mean HEED_MODE?"},
		{"nothing like it", "HEED_FROBNICATE=1", "environment HEED_FROBNICATE: unknown variable"},
		{"service link", "HEED_PORT=tcp://10.0.0.1:80", ""},
		{"service link of a port", "HEED_PORT_8080_TCP_ADDR=10.0.0.1", ""},
		{"service link of a host", "HEED_SERVICE_HOST=10.0.0.1", ""},
		{"set for the command of heed run", "HEED_ACTIVE=1", ""},
		{"the address for the command of heed run", "HEED_PROXY=http://127.0.0.1:1", ""},
		{"another program's", "HEEDLESS=1", ""},
		{"no equals sign", "HEED_FROBNICATE", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := mustLoad(t, sources{env: []string{c.env}})
			if got := strings.Join(l.Warnings, "\n"); got != c.warning {
				t.Errorf("%s:\n got %q\nwant %q", c.env, got, c.warning)
			}
			if l.Config.Mode != "enforce" {
				t.Errorf("%s set the mode", c.env)
			}
		})
	}
}
