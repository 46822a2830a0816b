package ca

import (
	"cmp"
	"crypto/tls"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/patrickmn/go-cache"
)

const (
	// maxLeaves bounds the cache: clients choose the names, and may go on choosing new ones. A leaf takes about 4 KiB
	// with its parsed form, so this is about 40 MiB; a crawl of more hosts at a time mints again, at about 0.2 ms each.
	maxLeaves = 10_000

	// evictShare is the part of a full cache that goes at once: sorting for every single leaf would cost more than
	// minting it.
	evictShare = 10
)

// leafCache holds leaves until they are due to be minted again. Its janitor is off: what is due goes when the room is
// needed, and no goroutine has to be stopped.
type leafCache struct {
	bound int

	mu     sync.Mutex // held from the look at the count to the insertion, so that the bound is kept
	leaves *cache.Cache
}

func newLeafCache(bound int) *leafCache {
	return &leafCache{bound: bound, leaves: cache.New(cache.NoExpiration, 0)}
}

// get is nil when there is no leaf, or one that is due.
func (c *leafCache) get(key string) *tls.Certificate {
	leaf, ok := c.leaves.Get(key)
	if !ok {
		return nil
	}
	return leaf.(*tls.Certificate)
}

// put keeps leaf for ttl, making room first when the cache is full.
func (c *leafCache) put(key string, leaf *tls.Certificate, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaves.ItemCount() >= c.bound {
		c.evictLocked()
	}
	// To go-cache zero means for ever.
	c.leaves.Set(key, leaf, max(ttl, time.Nanosecond))
}

// evictLocked drops what is due and, if that is not enough, the leaves that are due next: those minted longest ago.
func (c *leafCache) evictLocked() {
	c.leaves.DeleteExpired()
	if c.leaves.ItemCount() < c.bound {
		return
	}
	items := c.leaves.Items()
	keys := slices.SortedFunc(maps.Keys(items), func(a, b string) int {
		return cmp.Compare(items[a].Expiration, items[b].Expiration)
	})
	for _, key := range keys[:min(len(keys), max(1, c.bound/evictShare))] {
		c.leaves.Delete(key)
	}
}
