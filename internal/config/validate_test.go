package config_test

import (
	"strings"
	"testing"
)

func TestValidValues(t *testing.T) {
	for _, file := range []string{
		`listen: ":8080"`, `listen: "[::1]:8080"`, `listen: localhost:0`, `listen: 0.0.0.0:65535`, `listen: proxy.internal:3128`,
		`tls: {cert: c.pem, key: k.pem}`, `tls: {cert: ""}`,
		`admin: {listen: ""}`, `admin: {listen: "[::1]:9"}`, `admin: {listen: "localhost:9"}`, `admin: {listen: "127.9.9.9:9"}`,
		`admin: {listen: "0.0.0.0:9", token: s3cret}`,
		`{listen: "127.0.0.1:0", admin: {listen: "127.0.0.1:0"}}`,
		`{listen: "127.0.0.1:9", admin: {listen: "[::1]:9"}}`,
		`{listen: "127.0.0.1:9", admin: {listen: "127.0.0.2:9"}}`,
		`{listen: "0.0.0.0:9", admin: {listen: "[::1]:9"}}`,
		`agent: {tokens: [ExampleBot/1.0, example-bot, example_bot]}`,
		`agent: {user_agent: "Bot/1 (+https://example.org/bot)", rewrite: missing}`,
		`robots: {max_size: 500KiB, max_redirects: 50, ttl: 1ms, on_unreachable: allow, on_unavailable: disallow, max_origins: 1}`,
		`robots: {min_ttl: 1ms, stale_for: 0s, max_memory: 16MiB, max_fetches: 1, max_waiting: 1, store_timeout: 1ms}`,
		`robots: {store: "file:robots.db"}`, `robots: {store: "file:/var/lib/heed/robots.db"}`,
		`robots: {store: "redis://127.0.0.1:6379/1"}`, `robots: {store: "rediss://user:p%40ss@redis.internal:6380?addr=redis2.internal:6380"}`,
		`https: {mode: tunnel, tunnel_policy: deny, ca_dir: /var/lib/heed}`,
		`https: {tunnel_hosts: [example.org, Example.ORG, "*.example.org", "example.org:8443", "*.example.org:443", 192.0.2.1, "192.0.2.1:443", "2001:db8::1", "[2001:db8::1]:443", localhost, xn--bcher-kva.example, under_score.example]}`,
		`egress: {allow: [10.0.0.0/8, 192.0.2.7, "::1", "fd00::/8"], deny: [0.0.0.0/0], ca_file: a.pem}`,
		`refusal: {unreachable_status: 503}`,
		`limits: {header_bytes: 4KiB, shutdown_grace: 0s}`,
		`audit: {path: /var/log/heed.jsonl, events: refused, query: redact}`,
		`audit: {path: a.jsonl, client: hash, key_file: k, chain: false, bodies: b, required: true}`,
		`audit: {path: a.jsonl, rotate: {size: 64KiB, every: 1m, keep: 7, compress: false}}`,
		`audit: {rotate: {size: 0, every: 0s, keep: 0, compress: true}}`, `audit: {client: truncate, required: true}`,
		`log: {level: debug, format: json}`,
		`matching: {profile: rfc9309}`,
	} {
		if l, err := load(t, sources{file: file}); err != nil {
			t.Errorf("%s: %v", file, err)
		} else if len(l.Warnings) > 0 {
			t.Errorf("%s: warnings %q", file, l.Warnings)
		}
	}
}

func TestInvalidValues(t *testing.T) {
	for _, c := range []struct{ file, key, part string }{
		{`listen: ""`, "listen", "not host:port (allowed: host:port"},
		{`listen: "8080"`, "listen", "not host:port"},
		{`listen: "127.0.0.1"`, "listen", "not host:port"},
		{`listen: "::1:8080"`, "listen", "not host:port"},
		{`listen: "127.0.0.1:http"`, "listen", `"http" is not a port`},
		{`listen: "127.0.0.1:65536"`, "listen", "not a port"},
		{`listen: "127.0.0.1:-1"`, "listen", "not a port"},
		{`listen: "127.0.0.256:80"`, "listen", "neither a name nor an address"},
		{`listen: "http://127.0.0.1:80"`, "listen", "not host:port"},
		{`admin: {listen: "8081"}`, "admin.listen", `or ""`},
		{`admin: {listen: ":9"}`, "admin.token", "required"},
		{`admin: {listen: "0.0.0.0:9"}`, "admin.token", "required"},
		{`admin: {listen: "[::]:9"}`, "admin.token", "required"},
		{`admin: {listen: "192.168.1.1:9"}`, "admin.token", "required"},
		{`admin: {listen: "host.internal:9"}`, "admin.token", "required"},
		{`admin: {token: "a b"}`, "admin.token", "bearer token"},
		{`admin: {listen: "127.0.0.1:8080"}`, "admin.listen", "the same address as listen"},
		{`admin: {listen: "localhost:8080"}`, "admin.listen", "the same address as listen"},
		{`listen: ":8081"`, "admin.listen", "the same address as listen"},
		{`listen: "0.0.0.0:8081"`, "admin.listen", "the same address as listen"},
		{`tls: {cert: c.pem}`, "tls.cert", "useless without tls.key"},
		{`tls: {key: k.pem}`, "tls.key", "useless without tls.cert"},
		{`mode: Enforce`, "mode", "allowed: enforce or monitor"},
		{`agent: {tokens: []}`, "agent.tokens", "empty"},
		{`agent: {tokens: [""]}`, "agent.tokens", "product token"},
		{`agent: {tokens: ["*"]}`, "agent.tokens", "always tried last"},
		{`agent: {tokens: ["/1.0"]}`, "agent.tokens", "product token"},
		{`agent: {tokens: [ok, "(bad)"]}`, "agent.tokens", `"(bad)" does not begin`},
		{`agent: {tokens: ["a\nb"]}`, "agent.tokens", "control character"},
		{`agent: {user_agent: "a\r\nX: y"}`, "agent.user_agent", "control character"},
		{`agent: {rewrite: sometimes}`, "agent.rewrite", "never or missing or always"},
		{`matching: {profile: bing}`, "matching.profile", "allowed: rfc9309"},
		{`robots: {timeout: 0s}`, "robots.timeout", "not above 0"},
		{`robots: {timeout: -5s}`, "robots.timeout", "not above 0"},
		{`robots: {max_size: 499KiB}`, "robots.max_size", "too small (allowed: 500KiB to 1GiB)"},
		{`robots: {max_size: 2GiB}`, "robots.max_size", "too large"},
		{`robots: {max_redirects: 4}`, "robots.max_redirects", "too small (allowed: 5 to 50)"},
		{`robots: {max_redirects: 51}`, "robots.max_redirects", "too large"},
		{`robots: {ttl: 0s}`, "robots.ttl", "not above 0"},
		{`robots: {error_ttl: 0s}`, "robots.error_ttl", "not above 0"},
		{`robots: {on_unreachable: maybe}`, "robots.on_unreachable", "disallow or allow"},
		{`robots: {on_unavailable: maybe}`, "robots.on_unavailable", "allow or disallow"},
		{`robots: {max_origins: 0}`, "robots.max_origins", "allowed: 1 or more"},
		{`robots: {max_memory: 1MiB}`, "robots.max_memory", "too small (allowed: 16MiB or more)"},
		{`robots: {min_ttl: 0s}`, "robots.min_ttl", "not above 0"},
		{`robots: {stale_for: -1s}`, "robots.stale_for", "allowed: 0s or more"},
		{`robots: {max_fetches: 0}`, "robots.max_fetches", "allowed: 1 to 10000"},
		{`robots: {max_waiting: 0}`, "robots.max_waiting", "allowed: 1 or more"},
		{`robots: {store: ""}`, "robots.store", "no scheme"},
		{`robots: {store: memory}`, "robots.store", "no scheme"},
		{`robots: {store: "memory:x"}`, "robots.store", "nothing after it"},
		{`robots: {store: "file:"}`, "robots.store", "a path follows"},
		{`robots: {store: "file:///x"}`, "robots.store", "a path follows"},
		{`robots: {store: "redis:x"}`, "robots.store", "not a URL with a host"},
		{`robots: {store: "s3://bucket"}`, "robots.store", "not a known kind"},
		{`robots: {store_timeout: 0s}`, "robots.store_timeout", "not above 0"},
		{`https: {mode: mitm}`, "https.mode", "intercept or tunnel"},
		{`https: {ca_dir: "a\0b"}`, "https.ca_dir", "control character"},
		{`https: {tunnel_policy: maybe}`, "https.tunnel_policy", "unrestricted or allow or deny"},
		{`https: {tunnel_hosts: [""]}`, "https.tunnel_hosts", "is empty"},
		{`https: {tunnel_hosts: ["https://example.org"]}`, "https.tunnel_hosts", "slash"},
		{`https: {tunnel_hosts: ["*"]}`, "https.tunnel_hosts", "every host"},
		{`https: {tunnel_hosts: ["*:443"]}`, "https.tunnel_hosts", "every host"},
		{`https: {tunnel_hosts: ["www.*.org"]}`, "https.tunnel_hosts", "elsewhere"},
		{`https: {tunnel_hosts: ["example.org:0"]}`, "https.tunnel_hosts", "port from 1"},
		{`https: {tunnel_hosts: ["example.org:x"]}`, "https.tunnel_hosts", "port from 1"},
		{`https: {tunnel_hosts: ["bücher.example"]}`, "https.tunnel_hosts", "xn--"},
		{`https: {tunnel_hosts: ["a..b"]}`, "https.tunnel_hosts", "not a host name"},
		{`egress: {insecure_hosts: ["*"]}`, "egress.insecure_hosts", "every host"},
		{`egress: {allow: [example.org]}`, "egress.allow", "not a network"},
		{`egress: {allow: [10.0.0.5/8]}`, "egress.allow", "did you mean 10.0.0.0/8 or 10.0.0.5?"},
		{`egress: {deny: [10.0.0.0/33]}`, "egress.deny", "not a network"},
		{`egress: {deny: ["::ffff:10.0.0.0/104"]}`, "egress.deny", "write it as IPv4"},
		{`egress: {deny: ["fe80::1%eth0"]}`, "egress.deny", "not a network"},
		{`egress: {dial_timeout: 0s}`, "egress.dial_timeout", "not above 0"},
		{`egress: {response_header_timeout: 0s}`, "egress.response_header_timeout", "not above 0"},
		{`egress: {idle_timeout: 0s}`, "egress.idle_timeout", "not above 0"},
		{`refusal: {unreachable_status: 500}`, "refusal.unreachable_status", "403 or 503"},
		{`limits: {header_bytes: 4095B}`, "limits.header_bytes", "too small (allowed: 4KiB"},
		{`limits: {header_timeout: 0s}`, "limits.header_timeout", "not above 0"},
		{`limits: {idle_timeout: 0s}`, "limits.idle_timeout", "not above 0"},
		{`limits: {shutdown_grace: -1s}`, "limits.shutdown_grace", "too small (allowed: 0s or more)"},
		{`audit: {path: "a\nb"}`, "audit.path", "control character"},
		{`audit: {events: none}`, "audit.events", "all or refused"},
		{`audit: {query: hash}`, "audit.query", "keep or redact or drop"},
		{`audit: {client: drop}`, "audit.client", "keep or truncate or hash"},
		{`audit: {client: hash}`, "audit.client", "needs audit.key_file"},
		{`audit: {chain: 1}`, "audit.chain", "true or false"},
		{`audit: {chain: false, key_file: k}`, "audit.key_file", "no use without audit.chain"},
		{`audit: {path: "", required: true}`, "audit.required", "there is no log"},
		{`audit: {path: a, rotate: {size: 1}}`, "audit.rotate.size", "without a unit"},
		{`audit: {path: a, rotate: {size: 63KiB}}`, "audit.rotate.size", "64KiB to 1024GiB, or 0 for never"},
		{`audit: {path: a, rotate: {every: 59s}}`, "audit.rotate.every", "too small"},
		{`audit: {path: a, rotate: {every: 0}}`, "audit.rotate.every", "without a unit"},
		{`audit: {path: a, rotate: {size: 1MiB, keep: -1}}`, "audit.rotate.keep", "too small"},
		{`audit: {path: a, rotate: {keep: 1}}`, "audit.rotate.keep", "nothing is put aside"},
		{`audit: {rotate: {size: 1MiB}}`, "audit.rotate.size", "only a file can be rotated"},
		{`audit: {rotate: 5}`, "audit.rotate", "keys with values"},
		{`audit: {path: a, rotate: {often: 5s}}`, "audit.rotate.often", "unknown key"},
		{`log: {level: trace}`, "log.level", "debug or info or warn or error"},
		{`log: {format: xml}`, "log.format", "text or json"},
	} {
		_, err := load(t, sources{file: c.file})
		where := "file config.yaml:1"
		if f := faultsOf(t, err); len(f) == 1 && f[0].Where == "default" && (c.key == "admin.token" || c.key == "admin.listen") {
			where = "default" // required, or in the way, although not given
		}
		wantFault(t, c.file, err, c.key, where, c.part)
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct{ file, part string }{
		{`robots: {ttl: 48h}`, "robots.ttl: 48h is longer than the 24h"},
		{`agent: {tokens: [bot2]}`, `"bot2" holds characters that RFC 9309 2.2.1 does not allow`},
		{`agent: {tokens: ["Foo Bot"]}`, `"Foo" is compared`},
	} {
		l := mustLoad(t, sources{file: c.file})
		if len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0], c.part) {
			t.Errorf("%s: got %q, want %q", c.file, l.Warnings, c.part)
		}
	}
}
