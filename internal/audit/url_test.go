package audit

import (
	"strings"
	"testing"
)

func TestQuery(t *testing.T) {
	tests := []struct{ name, url, redact, drop string }{
		{"no query", "http://h.example/a", "http://h.example/a", "http://h.example/a"},
		{"values", "http://h.example/a?k=1&l=2", "http://h.example/a?k=REDACTED&l=REDACTED", "http://h.example/a"},
		{"an equals sign in a value", "/a?k=1=2", "/a?k=REDACTED", "/a"},
		{"an empty value", "/a?k=&l", "/a?k=REDACTED&REDACTED", "/a"},
		{"a lone word may be a secret", "/a?s3cret", "/a?REDACTED", "/a"},
		{"no key", "/a?=1", "/a?=REDACTED", "/a"},
		{"empty query and pairs", "/a?&&", "/a?&&", "/a"},
		{"a semicolon does not part", "/a?k=1;s=x", "/a?k=REDACTED", "/a"},
		{"a second question mark", "/a?k=1?s=x", "/a?k=REDACTED", "/a"},
		{"a raw fragment", "/a#access_token=x", "/a#access_token=REDACTED", "/a"},
		{"a fragment after the query", "/a?k=1#x", "/a?k=REDACTED", "/a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for query, want := range map[string]string{QueryKeep: tt.url, "": tt.url, QueryRedact: tt.redact, QueryDrop: tt.drop} {
				if got := cleanURL(tt.url, query); got != want {
					t.Errorf("query %q of %s: got %s, want %s", query, tt.url, got, want)
				}
			}
		})
	}
}

func TestUserinfoIsNeverWritten(t *testing.T) {
	tests := []struct{ name, url, want string }{
		{"well formed", "http://u:pw@h.example/a", "http://h.example/a"},
		{"user alone", "http://u@h.example", "http://h.example"},
		{"an at sign in the password", "http://u:p@w@h.example/", "http://h.example/"},
		{"a slash in the password", "http://u:p/w@h.example/", "http://h.example/"},
		{"a number sign in the password", "http://u:p#w@h.example/", "http://h.example/"},
		{"a question mark in the password", "http://u:p?w@h.example/", "http://h.example/"},
		{"a CONNECT target", "u:pw@h.example:443", "h.example:443"},
		{"one slash after the scheme", "http:/u:pw@h.example/", "http:/h.example/"},
		{"no slash after the scheme", "http:u:pw@h.example/", "h.example/"},
		{"backslashes", `http:\\u:pw@h.example/`, `http:\\h.example/`},
		{"no scheme", "//u:pw@h.example/", "//h.example/"},
		{"spaces", "http://u:p w@h.example/", "http://h.example/"},
		{"an IPv6 literal", "http://u:pw@[::1]:80/", "http://[::1]:80/"},
		{"an at sign in a path stays", "http://h.example:80/@me", "http://h.example:80/@me"},
		{"an at sign after an IPv6 literal stays", "http://[::1]/@me", "http://[::1]/@me"},
		{"an at sign in a query stays", "http://h.example?m=a@b", "http://h.example?m=a@b"},
		{"a bare path stays", "/@me", "/@me"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := cleanURL(tt.url, QueryKeep); got != tt.want {
				t.Errorf("%s: got %s, want %s", tt.url, got, tt.want)
			}
		})
	}
}

func TestErrorTextKeepsNoSecret(t *testing.T) {
	const url = "http://u:pw@h.example/a?key=s3cret"
	tests := []struct{ name, text, want string }{
		{"a quoted URL", `Get "` + url + `": EOF`, `Get "http://h.example/a?key=REDACTED": EOF`},
		{"a canonical form of the URL", `Get "http://h.example:80/a?key=s3cret": EOF`, `Get "http://h.example:80/a?key=REDACTED": EOF`},
		{"the path alone", "in /a?key=s3cret: bad", "in /a?key=REDACTED: bad"},
		{"another URL", "via https://x:pw@p.example:1/?y=pw then more", "via https://p.example:1/?y=REDACTED then more"},
		{"nothing to hide", "dial tcp 192.0.2.1:80: refused", "dial tcp 192.0.2.1:80: refused"},
		{"no host", "odd :// text", "odd :// text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := cleanText(tt.text, url, QueryRedact); got != tt.want {
				t.Errorf("%s: got %s, want %s", tt.text, got, tt.want)
			}
			dropped := cleanText(tt.text, url, QueryDrop)
			if strings.Contains(dropped, "pw") || strings.Contains(dropped, "s3cret") {
				t.Errorf("%s: drop leaves %s", tt.text, dropped)
			}
		})
	}
}
