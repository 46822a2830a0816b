package ca

import (
	"crypto/tls"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestCacheKeepsItsBound(t *testing.T) {
	const bound = 50
	c := newLeafCache(bound)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 100 {
				c.put(fmt.Sprint(worker, i), &tls.Certificate{}, time.Hour)
				if n := c.leaves.ItemCount(); n > bound {
					t.Errorf("%d leaves, bound %d", n, bound)
				}
			}
		})
	}
	wg.Wait()
	if n := c.leaves.ItemCount(); n < bound-bound/evictShare {
		t.Errorf("%d leaves left of %d: more than a batch was evicted", n, bound)
	}
}

func TestFullCacheDropsTheOldest(t *testing.T) {
	const bound = 20
	c := newLeafCache(bound)
	for i := range bound + 1 {
		c.put(fmt.Sprint(i), &tls.Certificate{}, time.Hour+time.Duration(i)*time.Second)
	}
	for i := range bound + 1 {
		if got, want := c.get(fmt.Sprint(i)) != nil, i >= bound/evictShare; got != want {
			t.Errorf("leaf %d cached: %v, want %v", i, got, want)
		}
	}
}

func TestFullCacheDropsWhatIsDueFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newLeafCache(2)
		c.put("due", &tls.Certificate{}, time.Minute)
		c.put("kept", &tls.Certificate{}, time.Hour)
		time.Sleep(2 * time.Minute)
		c.put("new", &tls.Certificate{}, time.Hour)
		if c.get("due") != nil || c.get("kept") == nil || c.get("new") == nil {
			t.Error("a leaf with life left went before one that was due")
		}
	})
}

func TestAuthorityKeepsItsBound(t *testing.T) {
	a := open(t)
	a.leaves = newLeafCache(10)
	for i := range 30 {
		leaf(t, a, fmt.Sprintf("h%d.example", i))
	}
	if n := a.leaves.leaves.ItemCount(); n > 10 || a.Issued() != 30 {
		t.Errorf("%d leaves cached, %d issued; want at most 10, and 30", n, a.Issued())
	}
}

// What a leaf may allocate: next to nothing from the cache; to mint one is mostly
// the standard library's encoding.
func TestLeafAllocations(t *testing.T) {
	a, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 51)
	for i := range names {
		names[i] = fmt.Sprintf("h%d.example", i)
	}
	i := 0
	if got := testing.AllocsPerRun(len(names)-1, func() { leaf(t, a, names[i]); i++ }); got > 400 {
		t.Errorf("minting: %v allocations, want at most 400", got)
	}
	if got := testing.AllocsPerRun(100, func() { leaf(t, a, names[0]) }); got > 4 {
		t.Errorf("from the cache: %v allocations, want at most 4", got)
	}
}

func BenchmarkMint(b *testing.B) {
	a, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := a.Leaf(fmt.Sprintf("h%d.example", i)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCached(b *testing.B) {
	a, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Leaf("example.com"); err != nil {
			b.Fatal(err)
		}
	}
}
