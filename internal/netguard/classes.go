package netguard

import "net/netip"

// special lists what is not global unicast, the longer prefix before the
// shorter that holds it, each with the document that sets it apart.
var special = []struct {
	prefix netip.Prefix
	class  string
}{
	{netip.MustParsePrefix("0.0.0.0/32"), "the unspecified address"},          // RFC 1122 3.2.1.3
	{netip.MustParsePrefix("0.0.0.0/8"), `an address on "this network"`},      // RFC 791 3.2
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},                // RFC 1918
	{netip.MustParsePrefix("100.64.0.0/10"), "a carrier-grade NAT address"},   // RFC 6598
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},              // RFC 1122 3.2.1.3
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's platform address"}, // Azure's, which only its machines reach
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},         // RFC 3927; cloud metadata services
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},             // RFC 1918
	{netip.MustParsePrefix("192.0.0.0/24"), "an IETF protocol assignment"},    // RFC 6890 2.1
	{netip.MustParsePrefix("192.0.2.0/24"), "a documentation address"},        // RFC 5737
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay address"},         // RFC 7526
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},            // RFC 1918
	{netip.MustParsePrefix("198.18.0.0/15"), "a benchmarking address"},        // RFC 2544
	{netip.MustParsePrefix("198.51.100.0/24"), "a documentation address"},     // RFC 5737
	{netip.MustParsePrefix("203.0.113.0/24"), "a documentation address"},      // RFC 5737
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},             // RFC 1112
	{netip.MustParsePrefix("255.255.255.255/32"), "the broadcast address"},    // RFC 919
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},              // RFC 1112
	{netip.MustParsePrefix("::/128"), "the unspecified address"},              // RFC 4291 2.5.2
	{netip.MustParsePrefix("::1/128"), "a loopback address"},                  // RFC 4291 2.5.3
	{compatible, "an IPv4-compatible address"},                                // RFC 4291 2.5.5.1
	{nat64, "a NAT64 address"},                                                // RFC 6052
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a local NAT64 address"},        // RFC 8215
	{netip.MustParsePrefix("100::/64"), "a discard-only address"},             // RFC 6666
	{teredo, "a Teredo address"},                                              // RFC 4380
	{netip.MustParsePrefix("2001::/23"), "an IETF protocol assignment"},       // RFC 2928
	{netip.MustParsePrefix("2001:db8::/32"), "a documentation address"},       // RFC 3849
	{sixToFour, "a 6to4 address"},                                             // RFC 3056
	{netip.MustParsePrefix("3fff::/20"), "a documentation address"},           // RFC 9637
	{netip.MustParsePrefix("fc00::/7"), "a unique local address"},             // RFC 4193
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},              // RFC 4291 2.5.6
	{netip.MustParsePrefix("fec0::/10"), "a site-local address"},              // RFC 3879
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},                // RFC 4291 2.7
}

// Prefixes whose addresses stand for an IPv4 address.
var (
	compatible = netip.MustParsePrefix("::/96")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	teredo     = netip.MustParsePrefix("2001::/32")
	sixToFour  = netip.MustParsePrefix("2002::/16")
)

// assigned is all IPv6 space given out as global unicast (RFC 3587 3). What
// lies outside it has no meaning yet and may get any.
var assigned = netip.MustParsePrefix("2000::/3")

// classify names the special purpose of addr, which is unmapped and has no
// zone; "" says that it is global unicast.
func classify(addr netip.Addr) string {
	for _, s := range special {
		if s.prefix.Contains(addr) {
			return s.class
		}
	}
	if addr.Is6() && !assigned.Contains(addr) {
		return "not a global unicast address"
	}
	return ""
}

// embedded returns the IPv4 address that addr stands for.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() || addr.IsUnspecified() || addr.IsLoopback() {
		return netip.Addr{}, false
	}
	b := addr.As16()
	switch {
	case compatible.Contains(addr), nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case teredo.Contains(addr):
		// The client's address is written inverted (RFC 4380 4).
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}), true
	}
	return netip.Addr{}, false
}
