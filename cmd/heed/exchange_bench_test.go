package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"heed/internal/ca"
	"heed/internal/config"
	"heed/policy"
	"heed/proxy"
)

// wholeHeed runs heed as it is shipped, with its records in a file, and returns
// the address of its proxy port and its CA.
func wholeHeed(t testing.TB, o *echoless) (string, *ca.Authority) {
	t.Helper()
	c := configFor(t, o)
	s, err := newServer(c, env{stdout: io.Discard, stderr: io.Discard}, slog.New(slog.DiscardHandler), new(slog.LevelVar))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.proxy.Serve(s.listener) }()
	t.Cleanup(func() {
		if err := s.shutdown(context.Background(), time.Minute); err != nil {
			t.Error(err)
		}
		<-served
		if s.audit.Written() == 0 || s.store.Len() != 1 {
			t.Errorf("%d records, rules of %d origins: not heed as it is shipped", s.audit.Written(), s.store.Len())
		}
	})
	return s.listener.Addr().String(), s.authority
}

// configFor is the default configuration but for what a test needs.
func configFor(t testing.TB, o *echoless) config.Config {
	t.Helper()
	dir := t.TempDir()
	environ := []string{
		"HEED_LISTEN=127.0.0.1:0", "HEED_ADMIN_LISTEN=", "HEED_HTTPS_CA_DIR=" + filepath.Join(dir, "ca"),
		"HEED_EGRESS_ALLOW=127.0.0.0/8", "HEED_AUDIT_PATH=" + filepath.Join(dir, "audit.jsonl"),
	}
	if o.roots != nil {
		file := filepath.Join(dir, "roots.pem")
		if err := os.WriteFile(file, o.roots, 0o600); err != nil {
			t.Fatal(err)
		}
		environ = append(environ, "HEED_EGRESS_CA_FILE="+file)
	}
	loaded, err := config.Load(config.Options{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	return loaded.Config
}

// bareHeed runs the proxy alone: every target is allowed without a look at
// robots.txt, and nobody is told of what was done.
func bareHeed(t testing.TB, o *echoless) (string, *ca.Authority) {
	t.Helper()
	c := configFor(t, o)
	r, err := newReach(c, env{})
	if err != nil {
		t.Fatal(err)
	}
	authority, err := ca.Open(c.HTTPS.CADir)
	if err != nil {
		t.Fatal(err)
	}
	po, err := proxyOptions(c, r, allAllowed{}, authority)
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxy.New(po)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	t.Cleanup(func() {
		if err := p.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		<-served
		r.transport.CloseIdleConnections()
	})
	return l.Addr().String(), authority
}

// allAllowed is a Source of origins without a robots.txt.
type allAllowed struct{}

func (allAllowed) Access(context.Context, policy.Origin) (policy.Access, error) {
	return policy.Access{Result: policy.Unavailable, Status: 404}, nil
}

// visitors ask a whole heed and a bare one.
func visitors(t testing.TB, secure bool) (whole, bare *visitor) {
	o := newEcholess(t, secure)
	addr, authority := wholeHeed(t, o)
	whole = newVisitor(t, addr, authority, o)
	addr, authority = bareHeed(t, o)
	return whole, newVisitor(t, addr, authority, o)
}

// BenchmarkExchange is a request for 1 KB over loopback on kept connections, with
// thirty rules and a record, and without; allocations are heed's alone.
func BenchmarkExchange(b *testing.B) {
	for _, secure := range []bool{false, true} {
		name := map[bool]string{false: "plain", true: "intercepted"}[secure]
		whole, bare := visitors(b, secure)
		for part, a := range map[string]*visitor{"whole": whole, "bare": bare} {
			b.Run(name+"/"+part, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					a.ask(b)
				}
			})
		}
	}
}

// cost is what a call allocates, the least of some measurements: others allocate,
// too, now and then.
func cost(call func()) (allocations, octets float64) {
	const calls = 500
	for range calls {
		call()
	}
	allocations, octets = 1e9, 1e9
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			call()
		}
		runtime.ReadMemStats(&after)
		allocations = min(allocations, float64(after.Mallocs-before.Mallocs)/calls)
		octets = min(octets, float64(after.TotalAlloc-before.TotalAlloc)/calls)
	}
	return allocations, octets
}

// What an exchange may allocate, and what of that may be heed's own doing: the
// decision and the record.
const (
	maxAllocations, maxOctets = 100, 9 << 10
	maxAdded, maxAddedOctets  = 12, 3 << 9
)

func TestExchangeAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, secure := range []bool{false, true} {
		whole, bare := visitors(t, secure)
		allocations, octets := cost(func() { whole.ask(t) })
		without, fewer := cost(func() { bare.ask(t) })
		if allocations > maxAllocations || octets > maxOctets {
			t.Errorf("TLS %t: %.1f allocations of %.0f octets, want at most %d of %d", secure, allocations, octets, maxAllocations, maxOctets)
		}
		if allocations-without > maxAdded || octets-fewer > maxAddedOctets {
			t.Errorf("TLS %t: rules and records take %.1f allocations of %.0f octets, want at most %d of %d",
				secure, allocations-without, octets-fewer, maxAdded, maxAddedOctets)
		}
		t.Logf("TLS %t: %.1f allocations of %.0f octets; without rules and records %.1f of %.0f", secure, allocations, octets, without, fewer)
	}
}
