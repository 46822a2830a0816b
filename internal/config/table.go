package config

import "time"

// table is the one place that knows the settings, their defaults and what they
// allow. config.yaml shows the same to users, and a test keeps the two equal.
var table = []key{
	{name: "listen", kind: text, fallback: "127.0.0.1:8080", rule: hostPort, restart: true},
	{name: "tls.cert", kind: text, fallback: "", rule: line, restart: true},
	{name: "tls.key", kind: text, fallback: "", rule: line, restart: true},
	{name: "admin.listen", kind: text, fallback: "127.0.0.1:8081", rule: hostPort.orEmpty(), restart: true},
	{name: "admin.token", kind: text, fallback: "", rule: bearer, secret: true, restart: true},
	{name: "mode", kind: text, fallback: "enforce", rule: oneOf("enforce", "monitor")},

	{name: "agent.tokens", kind: texts, fallback: "heed", rule: tokens},
	{name: "agent.user_agent", kind: text, fallback: "", rule: line},
	{name: "agent.rewrite", kind: text, fallback: "never", rule: oneOf("never", "missing", "always")},

	{name: "matching.profile", kind: text, fallback: "rfc9309", rule: oneOf("rfc9309", "decoded", "folded", "google", "strictest")},

	{name: "robots.timeout", kind: duration, fallback: "10s", rule: positive, restart: true},
	{name: "robots.max_size", kind: size, fallback: "512KiB", rule: between(500*kib, gib), restart: true}, // RFC 9309 2.5
	{name: "robots.max_redirects", kind: integer, fallback: "5", rule: between(5, 50), restart: true},     // RFC 9309 2.3.1.2
	{name: "robots.ttl", kind: duration, fallback: "24h", rule: positive, restart: true},
	{name: "robots.min_ttl", kind: duration, fallback: "1m", rule: positive, restart: true},
	{name: "robots.error_ttl", kind: duration, fallback: "30s", rule: positive, restart: true},
	{name: "robots.stale_for", kind: duration, fallback: "720h", rule: atLeast(0 * time.Second), restart: true},
	{name: "robots.on_unreachable", kind: text, fallback: "disallow", rule: oneOf("disallow", "allow")},
	{name: "robots.on_unavailable", kind: text, fallback: "allow", rule: oneOf("allow", "disallow")},
	{name: "robots.max_origins", kind: integer, fallback: "100000", rule: atLeast(1), restart: true},
	{name: "robots.max_memory", kind: size, fallback: "256MiB", rule: atLeast(16 * mib), restart: true},
	{name: "robots.max_fetches", kind: integer, fallback: "256", rule: between(1, 10_000), restart: true},
	{name: "robots.max_waiting", kind: integer, fallback: "1000", rule: atLeast(1), restart: true},
	{name: "robots.store", kind: text, fallback: "memory:", rule: store, conceal: withoutPassword, restart: true},
	{name: "robots.store_timeout", kind: duration, fallback: "250ms", rule: positive, restart: true},

	{name: "https.mode", kind: text, fallback: "intercept", rule: oneOf("intercept", "tunnel"), restart: true},
	{name: "https.ca_dir", kind: text, fallback: "", rule: line, restart: true},
	{name: "https.connect_ports", kind: ports, fallback: "", rule: portNumbers},
	{name: "https.tunnel_hosts", kind: texts, fallback: "", rule: hostPatterns},
	{name: "https.tunnel_policy", kind: text, fallback: "unrestricted", rule: oneOf("unrestricted", "allow", "deny")},
	{name: "https.http2", kind: boolean, fallback: "true", rule: either, restart: true},

	{name: "egress.allow", kind: prefixes, fallback: "", rule: networks},
	{name: "egress.deny", kind: prefixes, fallback: "", rule: networks},
	{name: "egress.proxy", kind: text, fallback: "", rule: upstream, conceal: hideUserinfo},
	{name: "egress.ca_file", kind: text, fallback: "", rule: line},
	{name: "egress.insecure_hosts", kind: texts, fallback: "", rule: hostPatterns},
	{name: "egress.dial_timeout", kind: duration, fallback: "10s", rule: positive},
	{name: "egress.response_header_timeout", kind: duration, fallback: "60s", rule: positive},
	{name: "egress.idle_timeout", kind: duration, fallback: "90s", rule: positive},

	{name: "auth.users_file", kind: text, fallback: "", rule: line},

	{name: "clients", rule: clientList},
	{name: "overrides", rule: overrideList},

	{name: "refusal.unreachable_status", kind: integer, fallback: "403", rule: oneOf(403, 503)},

	{name: "limits.header_bytes", kind: size, fallback: "1MiB", rule: between(4*kib, gib), restart: true},
	{name: "limits.header_timeout", kind: duration, fallback: "30s", rule: positive, restart: true},
	{name: "limits.idle_timeout", kind: duration, fallback: "120s", rule: positive, restart: true},
	{name: "limits.connections", kind: integer, fallback: "10000", rule: atLeast(0)},
	{name: "limits.connections_per_client", kind: integer, fallback: "0", rule: atLeast(0)},
	{name: "limits.shutdown_grace", kind: duration, fallback: "30s", rule: atLeast(0 * time.Second)},

	{name: "audit.path", kind: text, fallback: "-", rule: line, restart: true},
	{name: "audit.events", kind: text, fallback: "all", rule: oneOf("all", "refused"), restart: true},
	{name: "audit.query", kind: text, fallback: "keep", rule: oneOf("keep", "redact", "drop"), restart: true},
	{name: "audit.client", kind: text, fallback: "keep", rule: oneOf("keep", "truncate", "hash"), restart: true},
	{name: "audit.chain", kind: boolean, fallback: "true", rule: either, restart: true},
	{name: "audit.key_file", kind: text, fallback: "", rule: line, restart: true},
	{name: "audit.bodies", kind: text, fallback: "", rule: line, restart: true},
	{name: "audit.required", kind: boolean, fallback: "false", rule: either, restart: true},
	{name: "audit.rotate.size", kind: sizeOrZero, fallback: "0", rule: between(64*kib, tib).orZero(), restart: true},
	{name: "audit.rotate.every", kind: duration, fallback: "0s", rule: between(time.Minute, 366*24*time.Hour).orZero(), restart: true},
	{name: "audit.rotate.keep", kind: integer, fallback: "0", rule: between(0, 100_000), restart: true},
	{name: "audit.rotate.compress", kind: boolean, fallback: "true", rule: either, restart: true},

	{name: "log.level", kind: text, fallback: "info", rule: oneOf("debug", "info", "warn", "error")},
	{name: "log.format", kind: text, fallback: "text", rule: oneOf("text", "json"), restart: true},
}

// The largest size that is taken as meant; beyond it a typing error is likelier.
const (
	kib Size = 1 << 10
	mib Size = 1 << 20
	gib Size = 1 << 30
	tib Size = 1 << 40
)
