package proxy_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"heed/internal/netguard"
	"heed/policy"
	"heed/proxy"
)

// egressClasses has an address of each class that is not dialled, and the CIDR
// that would allow it.
var egressClasses = []struct{ name, addr, cidr string }{
	{"private", "10.0.0.1", "10.0.0.0/8"}, {"private", "172.16.0.1", "172.16.0.0/12"}, {"private", "192.168.0.1", "192.168.0.0/16"},
	{"unique local", "fd00::1", "fc00::/7"},
	{"loopback", "127.0.0.1", "127.0.0.0/8"}, {"loopback", "::1", "::1/128"},
	{"link-local", "169.254.1.1", "169.254.0.0/16"}, {"link-local", "fe80::1", "fe80::/10"},
	{"metadata", "169.254.169.254", "169.254.169.254/32"}, {"metadata", "fd00:ec2::254", "fd00:ec2::254/128"},
	{"metadata", "168.63.129.16", "168.63.129.16/32"}, {"metadata", "100.100.100.200", "100.100.100.200/32"},
	{"CGNAT", "100.64.0.1", "100.64.0.0/10"},
	{"benchmarking", "198.18.0.1", "198.18.0.0/15"},
	{"documentation", "192.0.2.1", "192.0.2.0/24"}, {"documentation", "2001:db8::1", "2001:db8::/32"},
	{"multicast", "224.0.0.1", "224.0.0.0/4"}, {"multicast", "ff02::1", "ff00::/8"},
	{"unspecified", "0.0.0.0", "0.0.0.0/32"}, {"unspecified", "::", "::/128"},
	{"mapped", "::ffff:127.0.0.1", "127.0.0.0/8"},
	{"compatible", "::808:808", "::/96"},
	{"NAT64", "64:ff9b::808:808", "64:ff9b::/96"},
	{"6to4", "2002:808:808::1", "2002::/16"},
	{"Teredo", "2001::f7f7:f7f7", "2001::/32"},
}

func TestNoClassOfAddressesIsReachedByLiteral(t *testing.T) {
	guard := netguard.New(nil, nil)
	guarded := func(o *proxy.Options) {
		o.Dial = guard.DialContext(2 * time.Second)
		o.Transport = proxy.NewTransport(proxy.TransportOptions{Dial: o.Dial})
	}
	intercepting := start(t, robots{}, nil, guarded)
	tunnelling := start(t, robots{}, nil, guarded, func(o *proxy.Options) { o.Leaf = nil })
	for _, c := range egressClasses {
		host := c.addr
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		upgrade := "Connection: Upgrade\r\nUpgrade: websocket\r\n"
		plain := func(more string) *http.Response {
			return intercepting.raw("GET", "GET http://"+host+":9/ HTTP/1.1\r\nHost: x\r\n"+more+"\r\n")
		}
		inside := func(more string) *http.Response {
			s := tls.Client(intercepting.tunnel(host+":9"), &tls.Config{InsecureSkipVerify: true})
			return exchangeRaw(t, s, "GET", "GET / HTTP/1.1\r\nHost: "+host+":9\r\n"+more+"\r\n")
		}
		for way, res := range map[string]*http.Response{
			"plain": plain(""), "WebSocket": plain(upgrade), "intercepted": inside(""), "WebSocket over TLS": inside(upgrade),
			"CONNECT": tunnelling.raw("CONNECT", "CONNECT "+host+":9 HTTP/1.1\r\nHost: x\r\n\r\n"),
		} {
			if res.StatusCode != 403 || !strings.HasPrefix(res.Header.Get("Proxy-Status"), "heed; error=destination_ip_prohibited") ||
				!strings.Contains(res.Header.Get("Proxy-Status"), "egress.allow") {
				t.Errorf("%s, %s by %s: %d %v", c.name, c.addr, way, res.StatusCode, res.Header)
			}
		}
		// Nothing but the one CIDR is needed. Most of them must not be dialled here.
		if err := netguard.New([]netip.Prefix{netip.MustParsePrefix(c.cidr)}, nil).Check(netip.MustParseAddr(c.addr)); err != nil {
			t.Errorf("%s is not allowed by %s: %v", c.addr, c.cidr, err)
		}
	}
	for _, r := range append(intercepting.wait(4*len(egressClasses)), tunnelling.wait(len(egressClasses))...) {
		if r.Decision.Verdict != policy.Disallow || r.Decision.Reason != policy.ReasonEgressDenied || r.Err == "" {
			t.Errorf("record %+v", r)
		}
	}
}

// Other spellings of 127.0.0.1, and zones, are not hosts at all.
func TestOtherSpellingsOfAddressesAreRefused(t *testing.T) {
	plain, _ := origins(t, func(http.ResponseWriter, *http.Request) { t.Error("an origin was reached") })
	h := start(t, robots{}, nil) // loopback is allowed
	port := plain.URL[strings.LastIndexByte(plain.URL, ':')+1:]
	hosts := []string{"2130706433", "017700000001", "0x7f000001", "0x7f.1", "127.1", "127.0.1", "0177.0.0.1", "127.0.0.01", "0x7f.0.0.1", "127.0.0.1.1", "[::1%25lo]", "[::1%lo]", "[fe80::1%25eth0]", "[127.0.0.1]", "127.0.0.1%00"}
	for _, host := range hosts {
		if res := h.raw("GET", "GET http://"+host+":"+port+"/ HTTP/1.1\r\nHost: x\r\n\r\n"); res.StatusCode != 400 {
			t.Errorf("GET http://%s: %d", host, res.StatusCode)
		}
		c := h.dialRaw()
		fmt.Fprintf(c, "CONNECT %s:%s HTTP/1.1\r\nHost: x\r\n\r\n", host, port)
		if res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: "CONNECT"}); err != nil || res.StatusCode != 400 {
			t.Errorf("CONNECT %s: %v %v", host, res, err)
		}
	}
	for _, r := range h.wait(2 * len(hosts)) {
		if r.Decision.Reason != policy.ReasonBadRequest {
			t.Errorf("record %+v", r)
		}
	}
}
