package admin

import (
	"testing"
)

func TestForeignHostsAreRefused(t *testing.T) {
	const everywhere, named = ":8081", "heed.internal:8081"
	tests := []struct {
		name, listen, host string
		status             int
	}{
		{"the listener's own address", loopbackAddr, "127.0.0.1:8081", 200},
		{"without its port", loopbackAddr, "127.0.0.1", 200},
		{"IPv6 loopback", loopbackAddr, "[::1]:8081", 200},
		{"IPv6 without a port", loopbackAddr, "[::1]", 200},
		{"an IP literal cannot be rebound", loopbackAddr, "192.0.2.1:8081", 200},
		{"localhost", loopbackAddr, "LocalHost:8081", 200},
		{"localhost, rooted", loopbackAddr, "localhost.", 200},
		{"a foreign name", loopbackAddr, "evil.example:8081", 403},
		{"a name under localhost", loopbackAddr, "localhost.evil.example", 403},
		{"a literal in a name", loopbackAddr, "127.0.0.1.evil.example", 403},
		{"an address as one number", loopbackAddr, "2130706433", 403},
		{"a name without a dot, on loopback", loopbackAddr, "heed:8081", 403},
		{"a name without a dot, on localhost", "localhost:8081", "heed:8081", 403},
		{"a name without a dot, on every interface", everywhere, "heed:8081", 200},
		{"a foreign name, on every interface", everywhere, "evil.example:8081", 403},
		{"the configured name", named, "HEED.internal.:8081", 200},
		{"another name than the configured", named, "evil.internal:8081", 403},
		{"the zero value", "", "heed:8081", 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := options()
			o.Listen = tt.listen
			header := map[string]string{"Host": tt.host}
			for _, path := range []string{"/", "/metrics", "/ca.pem"} {
				if got := ask(t, o, "GET", path, header); got.status != tt.status {
					t.Errorf("GET %s, Host %s, listening on %q: got %d %q, want %d", path, tt.host, tt.listen, got.status, got.body, tt.status)
				}
			}
			for _, path := range []string{"/healthz", "/readyz"} {
				if got := ask(t, o, "GET", path, header); got.status != 200 {
					t.Errorf("GET %s, Host %s: got %d, want 200", path, tt.host, got.status)
				}
			}
		})
	}
}

func TestForeignOriginsAreRefused(t *testing.T) {
	tests := []struct {
		name, origin string
		status       int
	}{
		{"its own", "http://SELF", 200},
		{"its own behind TLS", "https://SELF", 200},
		{"another site", "https://evil.example", 403},
		{"another port", "http://127.0.0.1:1", 403},
		{"an opaque one", "null", 403},
		{"an empty one", "", 403},
		{"not a URL", "http://[", 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := map[string]string{"Origin": tt.origin}
			if got := ask(t, options(), "GET", "/metrics", header); got.status != tt.status {
				t.Errorf("Origin %q: got %d %q, want %d", tt.origin, got.status, got.body, tt.status)
			}
			if got := ask(t, options(), "GET", "/healthz", header); got.status != 200 {
				t.Errorf("/healthz with Origin %q: got %d, want 200", tt.origin, got.status)
			}
		})
	}
}

func TestToken(t *testing.T) {
	tests := []struct {
		name, authorization string
		status              int
	}{
		{"the token", "Bearer s3cret", 200},
		{"the scheme in any case", "bearer s3cret", 200},
		{"none", "", 401},
		{"another", "Bearer s3creT", 401},
		{"the beginning of it", "Bearer s3c", 401},
		{"nothing after the scheme", "Bearer", 401},
		{"another scheme", "Basic s3cret", 401},
		{"no scheme", "s3cret", 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := options()
			o.Token = "s3cret"
			header := map[string]string{}
			if tt.authorization != "" {
				header["Authorization"] = tt.authorization
			}
			for _, path := range []string{"/", "/metrics", "/ca.pem"} {
				got := ask(t, o, "GET", path, header)
				challenge := got.header.Get("WWW-Authenticate")
				if got.status != tt.status || (challenge != "") != (tt.status == 401) {
					t.Errorf("GET %s, Authorization %q: got %d, challenge %q; want %d", path, tt.authorization, got.status, challenge, tt.status)
				}
			}
			for _, path := range []string{"/healthz", "/readyz"} {
				if got := ask(t, o, "GET", path, header); got.status != 200 {
					t.Errorf("GET %s, Authorization %q: got %d, want 200", path, tt.authorization, got.status)
				}
			}
		})
	}
}
