package fetch

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patrickmn/go-cache"

	"heed/policy"
)

// memory keeps what is known of origins: at most max of them, in at most
// maxOctets by its own estimate. go-cache finds them; its expiry is not used,
// because what has expired may still rule (see known.at), and it knows no bound
// and no order. So a list beside it is sampled for what was used least.
type memory struct {
	cache     *cache.Cache // *slot by origin
	max       int
	maxOctets int64

	mu     sync.Mutex // held by writers; readers need go-cache's own lock alone
	slots  []*slot    // all that the cache has
	files  map[string]*file
	warm   []*file // those whose rules are parsed
	octets int64   // slots, files and parsed rules
	parsed int64   // parsed rules
}

// A slot is the place of one origin.
type slot struct {
	origin string
	known  atomic.Pointer[known]
	used   atomic.Int64  // last Access, in Unix nanoseconds
	queued atomic.Int64  // last time a refresh was asked for, the same
	seen   atomic.Uint64 // Store.epoch when the backend was last compared

	index int // in memory.slots, guarded by memory.mu
}

// slotBase is what an origin takes beside its texts: slot, known, and its share
// of the map and the list.
const slotBase = 640

// samples is how many candidates eviction looks at: the one used least of 8 is
// in the oldest quarter nine times out of ten.
const samples = 8

func newMemory(max int, maxOctets int64) *memory {
	return &memory{
		cache:     cache.New(cache.NoExpiration, 0), // its janitor would end only by a finaliser
		max:       max,
		maxOctets: maxOctets,
		files:     map[string]*file{},
	}
}

// get returns the slot of an origin, or nil.
func (m *memory) get(origin string) *slot {
	v, ok := m.cache.Get(origin)
	if !ok {
		return nil
	}
	return v.(*slot)
}

func (m *memory) known(origin string) *known {
	if s := m.get(origin); s != nil {
		return s.known.Load()
	}
	return nil
}

// file returns the file of a SHA-256 if an origin has it, or nil.
func (m *memory) file(sha256 string) *file {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files[sha256]
}

// touch notes a use. Finer steps would make readers fight over a cache line.
func touch(used *atomic.Int64, now time.Time) {
	if n := now.UnixNano(); n-used.Load() > int64(10*time.Millisecond) {
		used.Store(n)
	}
}

// put makes k what is known of an origin, and gives k the file that others who
// have the same share.
func (m *memory) put(origin string, k *known, epoch uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k.file = m.holdLocked(k.file); k.file != nil {
		k.access.SHA256 = k.file.sha256
	}
	m.octets += k.octets()
	s := m.get(origin)
	if s == nil {
		if url := k.access.URL; strings.HasPrefix(url, origin) {
			origin = url[:len(origin)] // one text in memory, not two
		}
		s = &slot{origin: origin, index: len(m.slots)}
		m.slots = append(m.slots, s)
		m.octets += slotBase
	} else {
		old := s.known.Load()
		m.releaseLocked(old.file)
		m.octets -= old.octets()
	}
	s.known.Store(k)
	s.used.Store(time.Now().UnixNano())
	s.seen.Store(epoch)
	m.cache.Set(origin, s, cache.NoExpiration)
	m.fitLocked(s, nil)
}

// delete forgets an origin.
func (m *memory) delete(origin string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.get(origin); s != nil {
		m.dropLocked(s)
	}
}

func (m *memory) len() int { return m.cache.ItemCount() }

// all returns the slots there are now.
func (m *memory) all() []*slot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.slots)
}

// rules returns the parsed rules of f and parses them when need be.
func (m *memory) rules(f *file, now time.Time) *policy.Robots {
	touch(&f.used, now)
	if r := f.robots.Load(); r != nil {
		return r
	}
	r := policy.Parse(f.body)
	m.mu.Lock()
	defer m.mu.Unlock()
	if other := f.robots.Load(); other != nil {
		return other
	}
	if f.refs > 0 { // else nobody would give them up again
		f.robots.Store(r)
		f.warm = len(m.warm)
		m.warm = append(m.warm, f)
		m.parsed += f.parsed
		m.octets += f.parsed
		m.fitLocked(nil, f)
	}
	return r
}

// holdLocked counts one more origin that has f, or the file it equals.
func (m *memory) holdLocked(f *file) *file {
	if f == nil {
		return nil
	}
	if same := m.files[f.sha256]; same != nil {
		f = same
	} else {
		m.files[f.sha256] = f
		m.octets += f.octets()
	}
	f.refs++
	return f
}

func (m *memory) releaseLocked(f *file) {
	if f == nil {
		return
	}
	if f.refs--; f.refs == 0 {
		m.coolLocked(f)
		delete(m.files, f.sha256)
		m.octets -= f.octets()
	}
}

// coolLocked gives up the rules of f. Whoever was handed them keeps them.
func (m *memory) coolLocked(f *file) {
	if f.warm < 0 {
		return
	}
	last := m.warm[len(m.warm)-1]
	m.warm[f.warm], last.warm = last, f.warm
	m.warm[len(m.warm)-1] = nil
	m.warm = m.warm[:len(m.warm)-1]
	f.warm = -1
	f.robots.Store(nil)
	m.parsed -= f.parsed
	m.octets -= f.parsed
}

// fitLocked makes the bounds hold again. Parsed rules go first, since they can be
// had again without asking anybody, but an eighth is left to them; then origins.
// What was just put, or parsed, stays.
func (m *memory) fitLocked(put *slot, parsed *file) {
	for len(m.warm) > 1 && (m.parsed > m.maxOctets/2 || m.octets > m.maxOctets && m.parsed > m.maxOctets/8) {
		m.coolLocked(leastUsed(m.warm, parsed, func(f *file) int64 { return f.used.Load() }))
	}
	for len(m.slots) > 1 && (len(m.slots) > m.max || m.octets > m.maxOctets) {
		m.dropLocked(leastUsed(m.slots, put, func(s *slot) int64 { return s.used.Load() }))
	}
}

func (m *memory) dropLocked(s *slot) {
	last := m.slots[len(m.slots)-1]
	m.slots[s.index], last.index = last, s.index
	m.slots[len(m.slots)-1] = nil
	m.slots = m.slots[:len(m.slots)-1]
	m.cache.Delete(s.origin)
	k := s.known.Load()
	m.releaseLocked(k.file)
	m.octets -= slotBase + k.octets()
}

// leastUsed returns the one of a few that was used the longest time ago, and
// never spare, beside which there must be another.
func leastUsed[T comparable](list []T, spare T, used func(T) int64) T {
	var least T
	first := rand.IntN(len(list))
	found := false
	for i := range samples {
		c := list[(first+i)%len(list)]
		if len(list) > samples {
			c = list[rand.IntN(len(list))]
		}
		if c == spare {
			continue
		}
		if !found || used(c) < used(least) {
			least, found = c, true
		}
	}
	if !found {
		i := slices.IndexFunc(list, func(c T) bool { return c != spare })
		least = list[i]
	}
	return least
}

// octets is what the texts of k take.
func (k *known) octets() int64 {
	n := len(k.access.URL) + len(k.access.FinalURL) + len(k.access.Cause) + len(k.etag) + len(k.modified)
	if t := k.trouble; t != nil {
		n += 256 + len(t.access.Cause) + len(t.access.FinalURL)
	}
	return int64(n)
}
