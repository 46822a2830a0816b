package audit

import (
	"path/filepath"
	"sync"
	"testing"
)

// What a record costs all told: encoding, chain, head and the write itself. The
// time is what a busy log can take, since Record waits once it is full.
func BenchmarkRecord(b *testing.B) {
	for name, key := range map[string][]byte{"chain": nil, "keyed": testKey} {
		for _, writers := range []int{1, 64} {
			b.Run(name+map[int]string{1: "/1 writer", 64: "/64 writers"}[writers], func(b *testing.B) {
				w, err := Open(Options{Path: filepath.Join(b.TempDir(), "audit.jsonl"), Chain: true, Key: key})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				b.ResetTimer()
				var wg sync.WaitGroup
				for i := range writers {
					wg.Go(func() {
						r := refusal()
						for range (b.N + writers - 1 - i) / writers {
							w.Record(r)
						}
					})
				}
				wg.Wait()
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// What the request that is recorded waits for: the encoding, and its place in
// the queue.
func BenchmarkEncode(b *testing.B) {
	e := newEncoder(Options{})
	r := refusal()
	b.ReportAllocs()
	for b.Loop() {
		e.record(r).release()
	}
}

func TestARecordIsWrittenWithFewAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("SKIPPED: the race detector drops pooled buffers on purpose")
	}
	for name, o := range map[string]Options{
		"plain": {}, "chain": {Chain: true}, "keyed": {Chain: true, Key: testKey},
		"hashed client": {Chain: true, Key: testKey, Client: ClientHash}, "truncated client": {Client: ClientTruncate},
	} {
		o.Path = filepath.Join(t.TempDir(), "audit.jsonl")
		w := open(t, o)
		r := refusal()
		const batch = 100
		n := testing.AllocsPerRun(50, func() {
			for range batch {
				w.Record(r)
			}
			written(t, w)
		}) / batch
		if n > 2 {
			t.Errorf("%s: %v allocations a record, want at most 2", name, n)
		}
		t.Logf("%s: %.2f allocations a record", name, n)
	}
}
