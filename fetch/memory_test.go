package fetch

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"heed/policy"
)

func origin(i int) policy.Origin {
	return policy.Origin{Scheme: "http", Host: fmt.Sprintf("h%d.example", i), Port: 80}
}

func TestMemoryIsBounded(t *testing.T) {
	for _, max := range []int{1, 2, 19, 100} {
		m := newMemory(max)
		for i := range 10 * max {
			m.put(origin(i), policy.Access{Status: i}, time.Hour)
			if m.len() > max {
				t.Fatalf("max %d: %d entries after %d puts", max, m.len(), i+1)
			}
			if a, ok := m.get(origin(i)); !ok || a.Status != i {
				t.Fatalf("max %d: put %d gives %d, %v back", max, i, a.Status, ok)
			}
		}
		if least := max * 9 / 10; m.len() < least {
			t.Errorf("max %d: only %d entries are kept, want at least %d", max, m.len(), least)
		}
	}
}

func TestOldestIsEvictedFirst(t *testing.T) {
	m := newMemory(100)
	for i := range 100 {
		m.put(origin(i), policy.Access{}, time.Hour)
	}
	m.put(origin(0), policy.Access{}, time.Hour) // makes room first, then it is the newest
	for i := 100; i < 104; i++ {
		m.put(origin(i), policy.Access{}, time.Hour)
	}
	for i, want := range map[int]bool{0: true, 1: false, 4: false, 5: true, 99: true, 103: true} {
		if _, got := m.get(origin(i)); got != want {
			t.Errorf("origin %d kept %v, want %v", i, got, want)
		}
	}
}

func TestExpiredIsEvictedBeforeOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(100)
		for i := range 50 {
			m.put(origin(i), policy.Access{}, time.Hour)
		}
		for i := 50; i < 1000; i++ {
			m.put(origin(i), policy.Access{}, time.Second)
			time.Sleep(100 * time.Millisecond)
		}
		for i := range 50 {
			if _, ok := m.get(origin(i)); !ok {
				t.Errorf("origin %d gave way although others had expired", i)
			}
		}
	})
}

func TestQueueOfPutsIsBounded(t *testing.T) {
	m := newMemory(100)
	for i := range 10_000 {
		m.put(origin(i%10), policy.Access{}, time.Hour)
		if got, most := len(m.queue), 200; got > most {
			t.Fatalf("%d queued puts after %d, want at most %d", got, i+1, most)
		}
	}
	if m.len() != 10 {
		t.Errorf("%d entries, want 10", m.len())
	}
}

func BenchmarkPutWhenFull(b *testing.B) {
	m := newMemory(DefaultMaxOrigins)
	for i := range DefaultMaxOrigins {
		m.put(origin(i), policy.Access{}, time.Hour)
	}
	for i := DefaultMaxOrigins; b.Loop(); i++ {
		m.put(origin(i), policy.Access{}, time.Hour)
	}
}
