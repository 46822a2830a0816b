package main

import (
	"slices"
	"testing"

	"heed/internal/config"
)

// applied are the keys that a reload takes over. A key that is neither here nor one
// that needs a restart would be logged as changed and stay as it was.
var applied = []string{
	"mode", "agent.tokens", "agent.user_agent", "agent.rewrite", "matching.profile", "robots.on_unreachable", "robots.on_unavailable",
	"https.connect_ports", "https.tunnel_hosts", "https.tunnel_policy",
	"egress.allow", "egress.deny", "egress.proxy", "egress.ca_file", "egress.insecure_hosts",
	"egress.dial_timeout", "egress.response_header_timeout", "egress.idle_timeout",
	"auth.users_file", "clients", "overrides", "refusal.unreachable_status",
	"limits.connections", "limits.connections_per_client", "limits.shutdown_grace", "log.level",
}

func TestEveryKeyIsAppliedOrNeedsARestart(t *testing.T) {
	for _, key := range config.Keys() {
		if config.NeedsRestart(key) == slices.Contains(applied, key) {
			t.Errorf("%s: needs a restart: %v, and is applied: %v", key, config.NeedsRestart(key), slices.Contains(applied, key))
		}
	}
}
