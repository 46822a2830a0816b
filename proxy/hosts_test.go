package proxy_test

import (
	"testing"

	"heed/policy"
	"heed/proxy"
)

func TestHostPatterns(t *testing.T) {
	hosts, err := proxy.ParseHosts([]string{"Pinned.example", "*.bank.example", "h.example:8443", "[::1]", "*.port.example:444"})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]bool{
		"https://pinned.example": true, "https://pinned.example:1": true, "https://a.pinned.example": false,
		"https://a.bank.example": true, "https://a.b.bank.example": true, "https://bank.example": false, "https://xbank.example": false,
		"https://h.example:8443": true, "https://h.example": false, "https://[::1]": true, "https://example": false,
		"https://a.port.example:444": true, "https://a.port.example": false,
	} {
		target, err := policy.ParseTarget(url)
		if err != nil {
			t.Fatal(err)
		}
		if got := hosts.Has(target.Origin); got != want {
			t.Errorf("%s: %v, want %v", url, got, want)
		}
	}
	for _, bad := range []string{"", "*", "a..b", "http://x", "x:0", "*.*.x"} {
		if _, err := proxy.ParseHosts([]string{bad}); err == nil {
			t.Errorf("%q is taken for a pattern", bad)
		}
	}
}
