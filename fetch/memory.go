package fetch

import (
	"sync"
	"time"

	"github.com/patrickmn/go-cache"

	"heed/policy"
)

// memory keeps access results until their time is over, and at most max of
// them. go-cache does the keeping and the expiry; it knows no bound, and its
// janitor ends only by a finaliser, so that eviction is done here, when an
// entry is put.
type memory struct {
	cache *cache.Cache
	max   int

	mu    sync.Mutex // held by writers; readers need go-cache's own lock alone
	seq   uint64
	queue []queued // puts, oldest first; superseded ones included
}

// entry is what go-cache holds; seq tells the put that made it.
type entry struct {
	access policy.Access
	seq    uint64
}

type queued struct {
	key string
	seq uint64
}

func newMemory(max int) *memory {
	return &memory{cache: cache.New(cache.NoExpiration, 0), max: max}
}

func (m *memory) get(o policy.Origin) (policy.Access, bool) {
	v, ok := m.cache.Get(o.String())
	if !ok {
		return policy.Access{}, false
	}
	return v.(*entry).access, true
}

// put keeps a for ttl, which must be positive: go-cache takes anything else for
// "without end".
func (m *memory) put(o policy.Origin, a policy.Access, ttl time.Duration) {
	key := o.String()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cache.ItemCount() >= m.max {
		m.evictLocked()
	}
	m.seq++
	m.cache.Set(key, &entry{access: a, seq: m.seq}, ttl)
	m.queue = append(m.queue, queued{key: key, seq: m.seq})
	if len(m.queue) >= 2*m.max {
		m.compactLocked()
	}
}

func (m *memory) len() int { return m.cache.ItemCount() }

// evictLocked makes room for a twentieth of max: first from what has expired,
// then from what was put longest ago. One sweep of go-cache reads all it holds,
// so it has to pay for many puts.
func (m *memory) evictLocked() {
	m.cache.DeleteExpired()
	keep := m.max - (m.max+19)/20
	n := 0
	for ; n < len(m.queue) && m.cache.ItemCount() > keep; n++ {
		key := m.queue[n].key
		// go-cache still holds what expires during the loop, but hides it.
		if seq, visible := m.seqLocked(key); !visible || seq == m.queue[n].seq {
			m.cache.Delete(key)
		}
	}
	m.queue = m.queue[n:]
}

// compactLocked drops superseded puts: an origin that is put again and again
// must not make the queue grow.
func (m *memory) compactLocked() {
	m.cache.DeleteExpired()
	queue := make([]queued, 0, m.max)
	for _, q := range m.queue {
		if seq, visible := m.seqLocked(q.key); visible && seq == q.seq {
			queue = append(queue, q)
		}
	}
	m.queue = queue
}

func (m *memory) seqLocked(key string) (seq uint64, visible bool) {
	v, ok := m.cache.Get(key)
	if !ok {
		return 0, false
	}
	return v.(*entry).seq, true
}
