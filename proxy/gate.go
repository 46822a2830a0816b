package proxy

import (
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"heed/policy"
)

// gate counts client connections and finds those that are one too many. The
// zero value is empty. It is safe for concurrent use.
type gate struct {
	refused atomic.Uint64 // connections that were one too many, answered or not

	mu       sync.Mutex
	admitted int
	told     int                // too many, and open for as long as it takes to say so
	clients  map[netip.Addr]int // admitted, by client; no entry is 0
}

// Bounds of what is spent on connections beyond the limits. A share of the limit
// is answered at one time; of those beyond it nobody is told why.
const (
	toldShare  = 16
	toldLeast  = 16
	toldMost   = 512
	toldTime   = 5 * time.Second // until the request of such a connection must have come
	retryLater = 5 * time.Second // what Retry-After says
)

// enter counts a connection of a client in. limit names the setting that it
// exceeds, "" when it is admitted. It reports false when the connection is to be
// closed at once; otherwise leave must be called with the same values.
func (g *gate) enter(from netip.Addr, s *settings) (limit string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case s.connections > 0 && g.admitted >= s.connections:
		limit = "limits.connections"
	case s.perClient > 0 && g.clients[from] >= s.perClient:
		limit = "limits.connections_per_client"
	default:
		if g.clients == nil {
			g.clients = map[netip.Addr]int{}
		}
		g.admitted++
		g.clients[from]++
		return "", true
	}
	g.refused.Add(1)
	if g.told >= min(toldMost, max(toldLeast, s.connections/toldShare)) {
		return limit, false
	}
	g.told++
	return limit, true
}

func (g *gate) leave(from netip.Addr, limit string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if limit != "" {
		g.told--
		return
	}
	g.admitted--
	if g.clients[from]--; g.clients[from] == 0 {
		delete(g.clients, from)
	}
}

func (g *gate) open() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.admitted + g.told
}

// clientOf is what connections are counted by: a client of IPv6 has a /64 to
// choose addresses from.
func clientOf(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return a
}

// tooMany answers a request on a connection that is one too many, of whatever
// kind it is: nothing is opened for it.
func (x *exchange) tooMany(r *http.Request, limit string) {
	x.rec.URL = withoutUserinfo(r.RequestURI)
	x.last = true
	detail := "This proxy has as many connections as " + limit + " allows: use those that are open again, or try later"
	x.fail(policy.ReasonLimit, fmt.Errorf("more connections than %s allows", limit))
	x.refuse(refusal{
		status: http.StatusServiceUnavailable, token: "connection_limit_reached", title: "Too many connections",
		detail: detail, retry: time.Now().Add(retryLater),
	})
	if x.upload != nil {
		x.limitDrain(lingerTime)
	}
}
