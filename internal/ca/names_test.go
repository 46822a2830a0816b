package ca

import (
	"slices"
	"strings"
	"testing"
)

func TestCanonicalNames(t *testing.T) {
	a := open(t)
	for given, want := range map[string]string{
		"Example.COM":           "example.com",
		"example.com.":          "example.com",
		"xn--bcher-kva.ch":      "xn--bcher-kva.ch",
		"my_host.example":       "my_host.example",
		"a-.example":            "a-.example",
		"localhost":             "localhost",
		"::ffff:192.0.2.1":      "192.0.2.1",
		"2001:DB8:0:0:0::1":     "2001:db8::1",
		strings.Repeat("a", 63): strings.Repeat("a", 63),
	} {
		cert := leaf(t, a, given)
		verify(t, a, cert, want)
		if got, err := a.Leaf(want); err != nil || got.Leaf != cert {
			t.Errorf("Leaf(%q) and Leaf(%q) differ: %v", given, want, err)
		}
	}
}

func TestInvalidNames(t *testing.T) {
	a := open(t)
	for _, names := range [][]string{
		nil, {""}, {"."}, {".."}, {"example..com"}, {".example.com"}, {"*.example.com"}, {"a,b"}, {"a b"}, {"a\x00b"},
		{"bücher.ch"}, {"\xff"}, {"[::1]"}, {"::1%eth0"}, {"example.com:443"}, {"1.2.3"}, {"1.2.3.400"}, {"http://a"},
		{strings.Repeat("a", 64) + ".example"}, {strings.Repeat("a.", 127) + "example"}, {"example.com", ""},
		slices.Repeat([]string{"example.com"}, maxNames+1),
	} {
		if got, err := a.Leaf(names...); err == nil {
			t.Errorf("Leaf(%.80q) = %v, want an error", names, got.Leaf.DNSNames)
		}
	}
	if a.Issued() != 0 {
		t.Errorf("%d leaves issued, want none", a.Issued())
	}
}

func FuzzLeafName(f *testing.F) {
	a, err := Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"example.com", "192.0.2.1", "::1", "-a.example", "*.a", "\xff", "a."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got, err := a.Leaf(name)
		if err == nil && len(got.Leaf.DNSNames)+len(got.Leaf.IPAddresses) != 1 {
			t.Errorf("Leaf(%q): names %q, addresses %v", name, got.Leaf.DNSNames, got.Leaf.IPAddresses)
		}
	})
}
