package proxy

import (
	"net/netip"
	"sync"
	"time"
)

// distrust remembers which clients have been named in the log for not trusting
// the CA: such a client fails every handshake, and one line a minute is enough.
// It is safe for concurrent use; the zero value has named nobody.
type distrust struct {
	mu    sync.Mutex
	named map[netip.Addr]time.Time
}

const (
	distrustEvery = time.Minute
	distrustKept  = 1024 // clients remembered; more are forgotten all at once
)

// name reports whether the client is to be named now.
func (d *distrust) name(client netip.Addr) bool {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if last, ok := d.named[client]; ok && now.Sub(last) < distrustEvery {
		return false
	}
	if d.named == nil || len(d.named) >= distrustKept {
		d.named = map[netip.Addr]time.Time{}
	}
	d.named[client] = now
	return true
}
