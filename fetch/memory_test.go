package fetch

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heed/policy"
)

func origin(i int) policy.Origin {
	return policy.Origin{Scheme: "http", Host: fmt.Sprintf("h%d.example", i), Port: 80}
}

// learnt is what is known of origin i after its body was fetched.
func learnt(i int, body string) *known {
	sum := fmt.Sprintf("%064x", len(body))
	if body != "" {
		sum = digestOf(body)
	}
	return &known{
		access: policy.Access{Result: policy.Successful, URL: origin(i).RobotsURL(), Status: 200, SHA256: sum},
		file:   newFile(sum, []byte(body)),
		fresh:  time.Now().Add(time.Hour), refresh: time.Now().Add(time.Hour),
	}
}

func learntTrouble(url string) policy.Access {
	return policy.Access{URL: url, Cause: "no"}
}

func put(m *memory, i int, body string) { m.put(keyOf(origin(i)), learnt(i, body), 0) }

func has(m *memory, i int) bool { return m.get(keyOf(origin(i))) != nil }

// recount adds up what memory should take.
func (m *memory) recount() (octets, parsed int64) {
	files := map[*file]int{}
	for _, s := range m.slots {
		k := s.known.Load()
		octets += slotBase + k.octets()
		if k.file != nil {
			files[k.file]++
		}
	}
	for f, refs := range files {
		octets += f.octets()
		if f.robots.Load() != nil {
			parsed += f.parsed
		}
		if refs != f.refs || m.files[f.sha256] != f || (f.warm >= 0) != (f.robots.Load() != nil) {
			panic("a file is counted wrongly")
		}
	}
	if len(files) != len(m.files) {
		panic("files that no origin has are kept")
	}
	return octets + parsed, parsed
}

func checkCount(t *testing.T, m *memory) {
	t.Helper()
	if octets, parsed := m.recount(); octets != m.octets || parsed != m.parsed {
		t.Fatalf("counted %d octets, %d parsed; are %d, %d", m.octets, m.parsed, octets, parsed)
	}
}

func TestMemoryIsBoundedByOrigins(t *testing.T) {
	for _, max := range []int{1, 2, 19, 100} {
		m := newMemory(max, 1<<30)
		for i := range 10 * max {
			put(m, i, "")
			if m.len() > max || len(m.slots) != m.len() {
				t.Fatalf("max %d: %d entries in %d slots after %d puts", max, m.len(), len(m.slots), i+1)
			}
			if !has(m, i) {
				t.Fatalf("max %d: the origin just put is not there", max)
			}
		}
		if m.len() != max {
			t.Errorf("max %d: only %d entries are kept", max, m.len())
		}
		checkCount(t, m)
	}
}

func TestMemoryIsBoundedByOctets(t *testing.T) {
	const most = 1 << 20
	m := newMemory(1000, most)
	for i := range 2000 {
		body := fmt.Sprintf("# %d\n", i) + strings.Repeat("Disallow: /path\n", i%500)
		put(m, i, body)
		m.rules(m.known(keyOf(origin(i))).file, time.Now())
		if m.octets > most || m.parsed > most/2 {
			t.Fatalf("%d octets, %d of them parsed, after %d puts; want at most %d", m.octets, m.parsed, i+1, most)
		}
		if !has(m, i) {
			t.Fatal("the origin just put is not there")
		}
	}
	checkCount(t, m)
	put(m, 5000, strings.Repeat("x", 2*most))
	if m.len() != 1 || !has(m, 5000) {
		t.Errorf("a file larger than the bound: %d origins are kept, want it alone", m.len())
	}
	checkCount(t, m)
}

func TestOriginsThatServeTheSameShareOneFile(t *testing.T) {
	m := newMemory(1000, 1<<30)
	for i := range 100 {
		put(m, i, fmt.Sprintf("User-agent: *\nDisallow: /%d\n", i%3))
	}
	if len(m.files) != 3 {
		t.Errorf("%d files are kept, want 3", len(m.files))
	}
	now := time.Now()
	a, b := m.known(keyOf(origin(0))), m.known(keyOf(origin(3)))
	if m.rules(a.file, now) != m.rules(b.file, now) || a.file != b.file {
		t.Error("the same body was parsed twice")
	}
	for i := range 100 {
		if i%3 == 0 {
			put(m, i, "")
		}
	}
	m.delete(keyOf(origin(1)))
	if len(m.files) != 3 { // two of the old ones and the empty one
		t.Errorf("%d files are kept, want 3", len(m.files))
	}
	checkCount(t, m)
	// A file that nobody has any more comes back with the copy that is renewed.
	m.put(keyOf(origin(0)), a, 0)
	checkCount(t, m)
}

func TestLeastUsedIsEvictedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const max = 1000
		m := newMemory(max, 1<<30)
		for i := range max {
			put(m, i, "")
		}
		for i := max; i < 3*max; i++ {
			time.Sleep(time.Second)
			for j := range 100 {
				touch(&m.get(keyOf(origin(j))).used, time.Now())
			}
			put(m, i, "")
			for j := range 100 {
				if !has(m, j) {
					t.Fatalf("origin %d gave way although it is in use", j)
				}
			}
		}
	})
}

// Live heap with as many origins as the default keeps. A tenth of them by
// default, in proportion.
func TestLiveHeap(t *testing.T) {
	n := DefaultMaxOrigins / 10
	if full() {
		n = DefaultMaxOrigins
	}
	own := func(i int) string {
		var b strings.Builder
		b.WriteString("User-agent: *\n")
		for j := 0; b.Len() < 1000; j++ {
			fmt.Fprintf(&b, "Disallow: /some/path/of/length/%d\n", 100*i+j)
		}
		return b.String()
	}
	cases := []struct {
		name string
		body func(i int) string
		most uint64 // octets, for DefaultMaxOrigins
	}{
		{"a file of its own for each", own, 400e6},
		{"ten files for all", func(i int) string { return own(i % 10) }, 80e6},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := heap()
			m := newMemory(DefaultMaxOrigins, DefaultMaxMemory*int64(n)/DefaultMaxOrigins)
			for i := range n {
				put(m, i, c.body(i))
				k := m.known(keyOf(origin(i)))
				k.etag, k.modified = fmt.Sprintf("\"%x\"", i), time.Now().Format(time.RFC1123)
				m.rules(k.file, time.Now())
			}
			got, most := heap()-before, c.most*uint64(n)/DefaultMaxOrigins
			t.Logf("%d origins: %.1f MB live, %.1f MB by memory's own estimate, %d files parsed", m.len(), float64(got)/1e6, float64(m.octets)/1e6, len(m.warm))
			if got > most || m.len() != n {
				t.Errorf("%d origins take %d octets, want at most %d for %d", m.len(), got, most, n)
			}
			runtime.KeepAlive(m)
		})
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkPutWhenFull(b *testing.B) {
	m := newMemory(DefaultMaxOrigins, 1<<30)
	for i := range DefaultMaxOrigins {
		put(m, i, "")
	}
	for i := DefaultMaxOrigins; b.Loop(); i++ {
		put(m, i, "")
	}
}
