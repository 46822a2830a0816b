package netguard

import (
	"net"
	"net/netip"
)

// Refuse makes g refuse addrs for good, whatever is allowed: the listeners of
// heed's own. An unspecified address stands for every address of this machine.
// It may be called at any time.
func (g *Guard) Refuse(addrs ...netip.AddrPort) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, a := range addrs {
		g.own = append(g.own, plain(a))
	}
}

// RefuseListener is Refuse for the Addr of a listener. One that is not TCP,
// such as a Unix socket, cannot be dialled through g and is ignored.
func (g *Guard) RefuseListener(addr net.Addr) {
	if tcp, ok := addr.(interface{ AddrPort() netip.AddrPort }); ok {
		g.Refuse(tcp.AddrPort())
	}
}

func (g *Guard) isOwn(addr netip.AddrPort) bool {
	if g == nil {
		return false
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	addr = plain(addr)
	for _, own := range g.own {
		if own.Port() != addr.Port() {
			continue
		}
		// To dial the unspecified address is to dial this machine.
		if own == addr || addr.Addr().IsUnspecified() {
			return true
		}
		if own.Addr().IsUnspecified() && isLocal(addr.Addr()) {
			return true
		}
	}
	return false
}

// isLocal reports whether addr is one of this machine's. When the machine
// cannot say, it is.
func isLocal(addr netip.Addr) bool {
	if addr.IsLoopback() {
		return true
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, a := range addrs {
		ipnet, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		if local, ok := netip.AddrFromSlice(ipnet.IP); ok && local.Unmap() == addr {
			return true
		}
	}
	return false
}

func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
