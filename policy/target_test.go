package policy_test

import (
	"strings"
	"testing"

	"heed/policy"
)

func TestParseTarget(t *testing.T) {
	tests := []struct {
		name, url, want string
	}{
		{"canonical scheme and host", "HTTP://H.Example/A?b", "http://h.example/A?b"},
		{"empty path", "http://h.example", "http://h.example/"},
		{"query without path", "http://h.example?q", "http://h.example/?q"},
		{"fragment dropped", "http://h.example/a?b#c?d", "http://h.example/a?b"},
		{"fragment without path", "http://h.example#c/d", "http://h.example/"},
		{"default port", "https://h.example:443/", "https://h.example/"},
		{"port with leading zeros", "http://h.example:0080/", "http://h.example/"},
		{"empty port", "http://h.example:/", "http://h.example/"},
		{"other port", "https://h.example:80/", "https://h.example:80/"},
		{"trailing dot", "http://h.example./", "http://h.example/"},
		{"underscore", "http://a_b.h.example/", "http://a_b.h.example/"},
		{"punycode", "http://XN--BCHER-KVA.example/", "http://xn--bcher-kva.example/"},
		{"IPv4", "http://192.0.2.1/", "http://192.0.2.1/"},
		{"IPv6", "http://[2001:DB8:0::0:1]:8080/", "http://[2001:db8::1]:8080/"},
		{"IPv4 in IPv6", "http://[::ffff:7f00:1]/", "http://[::ffff:127.0.0.1]/"},
		{"path stays as sent", "http://h.example//a/../%7e\\ツ|", "http://h.example//a/../%7e\\ツ|"},
		{"at sign in the path", "http://h.example/a@b:c", "http://h.example/a@b:c"},
		{"digits within a name", "http://1.2.h4/", "http://1.2.h4/"},
		{"hexadecimal prefix within a name", "http://0xyz/", "http://0xyz/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := policy.ParseTarget(tt.url)
			if err != nil || got.String() != tt.want {
				t.Fatalf("ParseTarget(%q): got %q, %v, want %q", tt.url, got, err, tt.want)
			}
			again, err := policy.ParseTarget(got.String())
			if err != nil || again != got {
				t.Errorf("ParseTarget(%q): got %q, %v, want the same again", got, again, err)
			}
		})
	}
}

func TestParseTargetErrors(t *testing.T) {
	tests := []struct {
		name, url, want string
	}{
		{"no scheme", "h.example/a", "absolute URL"},
		{"empty", "", "absolute URL"},
		{"other scheme", "ftp://h.example/", `scheme "ftp"`},
		{"empty scheme", "://h.example/", "scheme"},
		{"empty host", "http:///a", "empty host"},
		{"only a dot", "http://./", "empty host"},
		{"two trailing dots", "http://h.example../", "empty label"},
		{"userinfo", "http://u:p@h.example/", "user information"},
		{"backslash after the host", `http://h.example\@evil.example/`, "starts with"},
		{"backslash for slashes", `http:\\h.example\`, "absolute URL"},
		{"space", "http://h.example/a b", "%20"},
		{"line feed", "http://h.example/a\nb", "%0A"},
		{"NUL", "http://h.example/\x00", "%00"},
		{"delete", "http://h.example/\x7f", "%7F"},
		{"port zero", "http://h.example:0/", `port "0"`},
		{"port too large", "http://h.example:65536/", `port "65536"`},
		{"port with sign", "http://h.example:+80/", `port "+80"`},
		{"port of letters", "http://h.example:http/", `port "http"`},
		{"two ports", "http://h.example:1:2/", "brackets"},
		{"IPv6 without brackets", "http://2001:db8::1/", "brackets"},
		{"open bracket", "http://[::1/", "missing ]"},
		{"text after the bracket", "http://[::1]x/", "port after ]"},
		{"name in brackets", "http://[h.example]/", "IPv6"},
		{"IPv4 in brackets", "http://[192.0.2.1]/", "IPv6"},
		{"zone", "http://[fe80::1%25eth0]/", "zone"},
		{"number for an address", "http://2130706433/", "IPv4"},
		{"hexadecimal address", "http://0X7F000001/", "IPv4"},
		{"hexadecimal last part", "http://127.0.0.0x1/", "IPv4"},
		{"bare 0x", "http://0x/", "IPv4"},
		{"short address", "http://127.1/", "IPv4"},
		{"octal address", "http://0177.0.0.1/", "IPv4"},
		{"name that ends in a number", "http://h.1/", "IPv4"},
		{"internationalised name", "http://bücher.example/", "xn--"},
		{"Kelvin sign", "http://\u212a.example/", "xn--"},
		{"dotted capital I", "http://\u0130.example/", "xn--"},
		{"full-width dot", "http://h\uff0eexample/", "xn--"},
		{"escape in the host", "http://%68.example/", `character '%'`},
		{"label too long", "http://" + strings.Repeat("a", 64) + ".example/", "63"},
		{"host too long", "http://" + strings.Repeat("a.", 127) + "a/", "253"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := policy.ParseTarget(tt.url)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("ParseTarget(%q): got %+v, error %v, want an error with %q", tt.url, got, err, tt.want)
			}
			if got != (policy.Target{}) {
				t.Errorf("ParseTarget(%q): got %+v beside an error", tt.url, got)
			}
		})
	}
}

func TestOrigin(t *testing.T) {
	tests := []struct {
		scheme, authority                string
		text, hostField, address, robots string
	}{
		{"http", "H.example", "http://h.example", "h.example", "h.example:80", "http://h.example/robots.txt"},
		{"HTTPS", "h.example.:443", "https://h.example", "h.example", "h.example:443", "https://h.example/robots.txt"},
		{"http", "h.example:443", "http://h.example:443", "h.example:443", "h.example:443", "http://h.example:443/robots.txt"},
		{"https", "[::1]", "https://[::1]", "[::1]", "[::1]:443", "https://[::1]/robots.txt"},
		{"https", "[::1]:8443", "https://[::1]:8443", "[::1]:8443", "[::1]:8443", "https://[::1]:8443/robots.txt"},
	}
	for _, tt := range tests {
		o, err := policy.ParseOrigin(tt.scheme, tt.authority)
		if err != nil {
			t.Errorf("ParseOrigin(%q, %q): %v", tt.scheme, tt.authority, err)
		}
		for got, want := range map[string]string{
			o.String(): tt.text, o.Authority(): tt.hostField, o.Address(): tt.address, o.RobotsURL(): tt.robots,
		} {
			if got != want {
				t.Errorf("ParseOrigin(%q, %q): got %q, want %q", tt.scheme, tt.authority, got, want)
			}
		}
	}
	for _, authority := range []string{"h.example/a", "h.example?", "h example", "h.example:80 ", "h.example\\", "", ":80", "a\x00b"} {
		if o, err := policy.ParseOrigin("http", authority); err == nil {
			t.Errorf("ParseOrigin(http, %q): got %v, want an error", authority, o)
		}
	}
}

func TestIsRobotsTXT(t *testing.T) {
	for path, want := range map[string]bool{
		"/robots.txt": true, "/%72obots.txt": true, "/robots%2etxt": true, "/%72%6F%62%6f%74%73%2E%74%78%74": true,
		"/robots.txt?": false, "/robots.txt?a": false, "/Robots.txt": false, "//robots.txt": false, "/robots.txt/": false,
		"/x/../robots.txt": false, "/./robots.txt": false, "/%2Frobots.txt": false, "/%2572obots.txt": false, "/robots.txt%00": false,
		"": false, "/": false, "robots.txt": false,
	} {
		if got := (policy.Target{Path: path}).IsRobotsTXT(); got != want {
			t.Errorf("IsRobotsTXT(%q): got %t, want %t", path, got, want)
		}
	}
}
