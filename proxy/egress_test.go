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
	"heed/internal/testtool"
	"heed/policy"
	"heed/proxy"
)

func TestNoClassOfAddressesIsReachedByLiteral(t *testing.T) {
	guard := netguard.New(nil, nil)
	guarded := func(o *proxy.Options) {
		o.Dial = guard.DialContext(2 * time.Second)
		o.Transport = proxy.NewTransport(proxy.TransportOptions{Dial: o.Dial})
	}
	intercepting := start(t, robots{}, nil, guarded)
	tunnelling := start(t, robots{}, nil, guarded, func(o *proxy.Options) { o.Leaf = nil })
	for _, c := range testtool.Special {
		host := c.Addr
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
				t.Errorf("%s, %s by %s: %d %v", c.Class, c.Addr, way, res.StatusCode, res.Header)
			}
		}
		// Nothing but the one CIDR is needed. Most of them must not be dialled here.
		if err := netguard.New([]netip.Prefix{netip.MustParsePrefix(c.CIDR)}, nil).Check(netip.MustParseAddr(c.Addr)); err != nil {
			t.Errorf("%s is not allowed by %s: %v", c.Addr, c.CIDR, err)
		}
	}
	for _, r := range append(intercepting.wait(4*len(testtool.Special)), tunnelling.wait(len(testtool.Special))...) {
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
