package audit

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"heed/proxy"
)

func TestClientsAreWrittenAsTheOptionsSay(t *testing.T) {
	for _, tt := range []struct{ as, client, want string }{
		{ClientKeep, "192.0.2.77:40000", "192.0.2.77:40000"},
		{ClientKeep, "[::ffff:192.0.2.77]:40000", "192.0.2.77:40000"},
		{ClientKeep, "[fe80::1%eth0]:1", "[fe80::1]:1"},
		{ClientTruncate, "192.0.2.77:40000", "192.0.2.0"},
		{ClientTruncate, "[::ffff:192.0.2.77]:40000", "192.0.2.0"},
		{ClientTruncate, "[2001:db8:1:2:3::4]:40000", "2001:db8:1::"},
		{ClientHash, "192.0.2.77:40000", "[0-9a-f]{32}"},
		{ClientHash, "[2001:db8:1:2:3::4]:40000", "[0-9a-f]{32}"},
	} {
		e := newEncoder(Options{Client: tt.as, Key: testKey})
		addr := netip.MustParseAddrPort(tt.client)
		r := &proxy.Record{Client: addr, Err: "read tcp 127.0.0.1:80->" + tt.client + ": reset; " + addr.Addr().String() + " is gone"}
		var entry Entry
		if err := entry.Parse(append(e.record(r).line, '}')); err != nil {
			t.Fatal(err)
		}
		got := string(entry.Client)
		if tt.as == ClientHash {
			if !regexp.MustCompile("^" + tt.want + "$").MatchString(got) {
				t.Errorf("%s as %s: got %q", tt.client, tt.as, got)
			}
		} else if got != tt.want {
			t.Errorf("%s as %s: got %q, want %q", tt.client, tt.as, got, tt.want)
		}
		if tt.as != ClientKeep && strings.Contains(string(entry.Error), addr.Addr().String()) {
			t.Errorf("%s as %s: the error names it: %s", tt.client, tt.as, entry.Error)
		}
	}
}

func TestAHashedClientIsTheSameFromEachPort(t *testing.T) {
	hash := func(key, client string) string {
		e := newEncoder(Options{Client: ClientHash, Key: []byte(key)})
		var entry Entry
		if err := entry.Parse(append(e.record(&proxy.Record{Client: netip.MustParseAddrPort(client)}).line, '}')); err != nil {
			t.Fatal(err)
		}
		return string(entry.Client)
	}
	const key = "0123456789abcdef"
	if hash(key, "192.0.2.1:1") != hash(key, "[::ffff:192.0.2.1]:2") {
		t.Error("one client has two hashes")
	}
	if hash(key, "192.0.2.1:1") == hash(key, "192.0.2.2:1") || hash(key, "192.0.2.1:1") == hash(key+"x", "192.0.2.1:1") {
		t.Error("two clients, or two keys, have one hash")
	}
}

func TestChangedQueriesAreMarked(t *testing.T) {
	for _, tt := range []struct{ query, url, want string }{
		{QueryKeep, "http://h/?a=1", ""}, {QueryDrop, "http://h/?a=1", "drop"}, {QueryRedact, "http://h/?a=1", "redact"},
		{QueryDrop, "http://h/a", ""}, {QueryDrop, "http://u:p@h/a", ""}, {QueryRedact, "http://h/?", ""},
	} {
		var e Entry
		if err := e.Parse(Append(nil, &proxy.Record{URL: tt.url}, tt.query)); err != nil || string(e.Query) != tt.want {
			t.Errorf("%s of %s: query %q, %v; want %q", tt.query, tt.url, e.Query, err, tt.want)
		}
	}
}
