package netguard_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"heed/internal/netguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func TestOnlyGlobalUnicastWithoutSettings(t *testing.T) {
	cases := []struct{ addr, class string }{
		{"8.8.8.8", ""},
		{"100.63.255.255", ""},
		{"100.128.0.0", ""},
		{"172.15.255.255", ""},
		{"172.32.0.0", ""},
		{"192.0.1.0", ""},
		{"198.17.255.255", ""},
		{"198.20.0.0", ""},
		{"223.255.255.255", ""},
		{"2606:4700::1111", ""},
		{"2001:4860:4860::8888", ""},
		{"2001:200::1", ""},
		{"::ffff:8.8.8.8", ""},
		{"0.0.0.0", "the unspecified address"},
		{"0.1.2.3", `an address on "this network"`},
		{"10.0.0.1", "a private address"},
		{"10.255.255.255", "a private address"},
		{"100.64.0.1", "a carrier-grade NAT address"},
		{"100.127.255.255", "a carrier-grade NAT address"},
		{"127.0.0.1", "a loopback address"},
		{"127.255.255.254", "a loopback address"},
		{"168.63.129.16", "a cloud's platform address"},
		{"168.63.129.17", ""},
		{"169.254.169.254", "a link-local address"},
		{"172.16.0.1", "a private address"},
		{"172.31.255.255", "a private address"},
		{"192.0.0.192", "an IETF protocol assignment"},
		{"192.0.2.1", "a documentation address"},
		{"192.88.99.1", "a 6to4 relay address"},
		{"192.168.1.1", "a private address"},
		{"198.18.0.1", "a benchmarking address"},
		{"198.19.255.255", "a benchmarking address"},
		{"198.51.100.1", "a documentation address"},
		{"203.0.113.1", "a documentation address"},
		{"224.0.0.1", "a multicast address"},
		{"239.255.255.255", "a multicast address"},
		{"240.0.0.1", "a reserved address"},
		{"255.255.255.255", "the broadcast address"},
		{"::", "the unspecified address"},
		{"::1", "a loopback address"},
		{"::8.8.8.8", "an IPv4-compatible address"},
		{"::ffff:127.0.0.1", "a loopback address"},
		{"::ffff:169.254.169.254", "a link-local address"},
		{"::ffff:0:127.0.0.1", "not a global unicast address"},
		{"64:ff9b::8.8.8.8", "a NAT64 address"},
		{"64:ff9b:1::1", "a local NAT64 address"},
		{"100::1", "a discard-only address"},
		{"2001::1", "a Teredo address"},
		{"2001:2::1", "an IETF protocol assignment"},
		{"2001:db8::1", "a documentation address"},
		{"2002:808:808::1", "a 6to4 address"},
		{"3fff:0:1::1", "a documentation address"},
		{"4000::1", "not a global unicast address"},
		{"5f00::1", "not a global unicast address"},
		{"fc00::1", "a unique local address"},
		{"fd00:ec2::254", "a unique local address"},
		{"fe80::1", "a link-local address"},
		{"fe80::1%eth0", "a link-local address"},
		{"fec0::1", "a site-local address"},
		{"ff02::1", "a multicast address"},
	}
	guards := map[string]*netguard.Guard{"nil": nil, "zero": {}, "new": netguard.New(nil, nil)}
	for name, g := range guards {
		for _, c := range cases {
			addr := netip.MustParseAddr(c.addr)
			got, want := g.Check(addr), ""
			if c.class != "" {
				want = addr.Unmap().WithZone("").String() + " is " + c.class + ": egress.allow does not name it"
			}
			if text(got) != want {
				t.Errorf("%s guard, Check(%s) = %q, want %q", name, c.addr, text(got), want)
			}
		}
		if err := g.Check(netip.Addr{}); err == nil {
			t.Errorf("%s guard allows the invalid address", name)
		}
	}
}

func TestSettings(t *testing.T) {
	cases := []struct {
		name        string
		allow, deny []netip.Prefix
		addr        string
		want        string // part of the error; "" when it may be dialled
	}{
		{"allow names a private address", prefixes("10.0.0.0/8"), nil, "10.1.2.3", ""},
		{"allow names its own prefix only", prefixes("10.0.0.0/16"), nil, "10.1.2.3", "egress.allow does not name it"},
		{"allow need not be masked", prefixes("10.9.9.9/8"), nil, "10.1.2.3", ""},
		{"deny takes a global address away", nil, prefixes("8.8.8.0/24"), "8.8.8.8", "egress.deny names 8.8.8.0/24"},
		{"deny beats allow", prefixes("10.0.0.0/8"), prefixes("10.1.0.0/16"), "10.1.2.3", "egress.deny names 10.1.0.0/16"},
		{"deny beats a longer allow", prefixes("10.1.2.3/32"), prefixes("10.0.0.0/8"), "10.1.2.3", "egress.deny names 10.0.0.0/8"},
		{"deny sees through IPv4-mapped", nil, prefixes("8.8.8.0/24"), "::ffff:8.8.8.8", "egress.deny"},
		{"deny written IPv4-mapped", nil, prefixes("::ffff:8.8.8.0/120"), "8.8.8.8", "egress.deny"},
		{"allow sees through IPv4-mapped", prefixes("127.0.0.0/8"), nil, "::ffff:127.0.0.1", ""},
		{"::/0 does not allow IPv4", prefixes("::/0"), nil, "::ffff:10.0.0.1", "egress.allow"},
		{"::/0 allows loopback", prefixes("::/0"), nil, "::1", ""},
		{"a zone does not hide an address from deny", prefixes("fe80::/10"), prefixes("fe80::/10"), "fe80::1%eth0", "egress.deny"},
		{"a zone does not hide an address from allow", prefixes("fe80::/10"), nil, "fe80::1%eth0", ""},
		{"NAT64 to a global address", prefixes("64:ff9b::/96"), nil, "64:ff9b::8.8.8.8", ""},
		{"NAT64 to a private address", prefixes("64:ff9b::/96"), nil, "64:ff9b::10.0.0.1", "10.0.0.1 is a private address"},
		{"NAT64 to an allowed private address", prefixes("64:ff9b::/96", "10.0.0.0/8"), nil, "64:ff9b::10.0.0.1", ""},
		{"NAT64 to a denied address", prefixes("64:ff9b::/96"), prefixes("8.0.0.0/8"), "64:ff9b::8.8.8.8", "egress.deny"},
		{"6to4 to a private address", prefixes("2002::/16"), nil, "2002:a00:1::1", "10.0.0.1 is a private address"},
		{"Teredo to a private address", prefixes("2001::/32"), nil, "2001::f5ff:fffe", "10.0.0.1 is a private address"},
		{"IPv4-compatible loopback", prefixes("::/96"), nil, "::127.0.0.1", "127.0.0.1 is a loopback address"},
		{"an invalid prefix names nothing", []netip.Prefix{{}}, []netip.Prefix{{}}, "127.0.0.1", "egress.allow"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := netguard.New(c.allow, c.deny).Check(netip.MustParseAddr(c.addr))
			if (err == nil) != (c.want == "") || !strings.Contains(text(err), c.want) {
				t.Errorf("allow %v, deny %v: Check(%s) = %q, want %q in it", c.allow, c.deny, c.addr, text(err), c.want)
			}
			var denied *netguard.DeniedError
			if err != nil && !errors.As(err, &denied) {
				t.Errorf("Check(%s) = %T, want a *DeniedError", c.addr, err)
			}
		})
	}
}

func TestOwnListenersAreRefusedWhateverIsAllowed(t *testing.T) {
	cases := []struct {
		name, own, addr string
		refused         bool
	}{
		{"the listener itself", "127.0.0.1:8080", "127.0.0.1:8080", true},
		{"another port", "127.0.0.1:8080", "127.0.0.1:8081", false},
		{"another address", "127.0.0.1:8080", "127.0.0.2:8080", false},
		{"IPv4-mapped", "127.0.0.1:8080", "[::ffff:127.0.0.1]:8080", true},
		{"the unspecified address leads to it", "127.0.0.1:8080", "0.0.0.0:8080", true},
		{"the unspecified IPv6 address leads to it", "127.0.0.1:8080", "[::]:8080", true},
		{"listening everywhere, dialled on loopback", "0.0.0.0:8080", "127.0.0.1:8080", true},
		{"listening everywhere, dialled on IPv6 loopback", "[::]:8080", "[::1]:8080", true},
		{"listening everywhere, dialled elsewhere", "[::]:8080", "192.0.2.1:8080", false},
		{"listening everywhere, another port", "[::]:8080", "127.0.0.1:8081", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := netguard.New(prefixes("0.0.0.0/0", "::/0"), nil)
			g.Refuse(netip.MustParseAddrPort(c.own))
			err := g.CheckPort(netip.MustParseAddrPort(c.addr))
			var denied *netguard.DeniedError
			if own := errors.As(err, &denied) && denied.Own; own != c.refused {
				t.Errorf("listener %s: CheckPort(%s) = %v, want refused %v", c.own, c.addr, err, c.refused)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
