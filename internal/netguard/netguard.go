// Package netguard says which addresses may be dialled.
//
// A crawler can be led by a redirect, a link or a DNS answer to the machine it
// runs on, to its neighbours, or to the metadata service of its cloud. The
// guard is asked about the address really dialled, after DNS and for each
// address a name has, so that a name which changes its answer between a check
// and the connection (DNS rebinding) gains nothing.
//
// Only global unicast addresses are dialled (the special-purpose registries of
// RFC 6890 name the rest) unless settings say otherwise. What a host name or a
// port may be is not judged here, nor is any address an upstream proxy dials.
package netguard

import (
	"fmt"
	"net/netip"
	"sync"
)

// A Guard decides by address. Make one with [New]; a nil Guard and the zero
// value dial global unicast addresses and refuse all others. A Guard is safe
// for concurrent use and must not be copied.
type Guard struct {
	allow, deny []netip.Prefix

	mu  sync.RWMutex
	own []netip.AddrPort // listeners of heed's own
}

// New makes a Guard that dials global unicast addresses and those that allow
// names, without those that deny names. The slices are not kept. An invalid
// prefix names no address. IPv4-mapped addresses and prefixes are taken as
// IPv4, so ::/0 covers IPv6 alone.
func New(allow, deny []netip.Prefix) *Guard {
	return &Guard{allow: canonical(allow), deny: canonical(deny)}
}

// A DeniedError says that an address may not be dialled, and why.
type DeniedError struct {
	Addr netip.Addr // as it was judged: IPv4-mapped addresses unmapped, no zone
	Why  string     // what follows the address in a sentence
	Own  bool       // heed itself listens there: the request would go round in circles
}

// Error says why, and which setting decides.
func (e *DeniedError) Error() string {
	if !e.Addr.IsValid() {
		return e.Why
	}
	return e.Addr.String() + " " + e.Why
}

// Check returns nil when addr may be dialled, and a [*DeniedError] otherwise.
// Ports, and so heed's own listeners, are judged by [Guard.CheckPort].
func (g *Guard) Check(addr netip.Addr) error {
	if !addr.IsValid() {
		return &DeniedError{Why: "no IP address to judge"}
	}
	// A zone would keep the address out of every prefix (netip.Prefix.Contains).
	addr = addr.Unmap().WithZone("")
	var allow, deny []netip.Prefix
	if g != nil {
		allow, deny = g.allow, g.deny
	}
	if p, ok := find(deny, addr); ok {
		return &DeniedError{Addr: addr, Why: fmt.Sprintf("is denied: egress.deny names %s", p)}
	}
	class := classify(addr)
	if class == "" {
		return nil
	}
	if _, ok := find(allow, addr); !ok {
		return &DeniedError{Addr: addr, Why: fmt.Sprintf("is %s: egress.allow does not name it", class)}
	}
	// A translator carries the packet on to the IPv4 address inside: allowing
	// the translator's prefix must not open every private IPv4 address.
	if v4, ok := embedded(addr); ok {
		if err := g.Check(v4); err != nil {
			return &DeniedError{Addr: addr, Why: fmt.Sprintf("leads to an address that may not be dialled: %v", err)}
		}
	}
	return nil
}

// CheckPort is Check for an address with a port: it also refuses heed's own
// listeners, whatever is allowed.
func (g *Guard) CheckPort(addr netip.AddrPort) error {
	if g.isOwn(addr) {
		return &DeniedError{
			Addr: addr.Addr().Unmap().WithZone(""),
			Why:  fmt.Sprintf("port %d is a listener of heed's own: requests to it would go round in circles", addr.Port()),
			Own:  true,
		}
	}
	return g.Check(addr.Addr())
}

func find(prefixes []netip.Prefix, addr netip.Addr) (netip.Prefix, bool) {
	for _, p := range prefixes {
		if p.Contains(addr) {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

func canonical(prefixes []netip.Prefix) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(prefixes))
	for _, p := range prefixes {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		out = append(out, p.Masked())
	}
	return out
}
