package proxy_test

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heed/internal/upstream"
	"heed/proxy"
)

// Another proxy is told addresses as RFC 3986 writes them, in brackets where they
// are of IPv6, and nothing of what the client told heed.
func TestOctetsToAnotherProxy(t *testing.T) {
	heads := make(chan string, 1)
	other := rawOrigin(t, func(c net.Conn) {
		head, _ := readHead(c)
		heads <- head
		status := "204 No Content"
		if strings.HasPrefix(head, "CONNECT") {
			status = "502 Bad Gateway"
		}
		_, _ = io.WriteString(c, "HTTP/1.1 "+status+"\r\nConnection: close\r\n\r\n")
	})
	proxies, err := upstream.New(upstream.Options{Proxy: "http://us:pw@" + other, Check: func(netip.AddrPort) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	h := start(t, robots{}, nil, func(o *proxy.Options) {
		transport := proxy.NewTransport(proxy.TransportOptions{Upstreams: proxies})
		t.Cleanup(transport.CloseIdleConnections)
		o.Transport = transport
	})
	const more = "Proxy-Authorization: Basic c2VjcmV0\r\nConnection: close\r\n\r\n"
	for _, tc := range []struct{ url, sent, want string }{
		{"http://[::1]:81", "GET @/x HTTP/1.1\r\nHost: #\r\n", "GET http://[::1]:81/x HTTP/1.1\r\nHost: [::1]:81\r\nProxy-Authorization: Basic dXM6cHc=\r\nVia: 1.1 heed-*\r\n\r\n"},
		{"http://[::1]:81", "OPTIONS @ HTTP/1.1\r\nHost: #\r\n", "OPTIONS http://[::1]:81 HTTP/1.1\r\nHost: [::1]:81\r\nProxy-Authorization: Basic dXM6cHc=\r\nVia: 1.1 heed-*\r\n\r\n"},
		{"http://h.example", "GET @//a|b HTTP/1.1\r\nHost: #\r\n", "GET http://h.example//a|b HTTP/1.1\r\nHost: h.example\r\nProxy-Authorization: Basic dXM6cHc=\r\nVia: 1.1 heed-*\r\n\r\n"},
		{"https://[::1]:444", "GET @/x HTTP/1.1\r\nHost: #\r\n", "CONNECT [::1]:444 HTTP/1.1\r\nHost: [::1]:444\r\nProxy-Authorization: Basic dXM6cHc=\r\n\r\n"},
		{"https://h.example:443", "GET @/x HTTP/1.1\r\nHost: #\r\n", "CONNECT h.example:443 HTTP/1.1\r\nHost: h.example:443\r\nProxy-Authorization: Basic dXM6cHc=\r\n\r\n"},
	} {
		l := h.leg(tc.url)
		l.send(tc.sent + more)
		if diff := cmp.Diff(tc.want, pseudonymless(<-heads)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.url, diff)
		}
		res, _ := l.answer(strings.Fields(tc.sent)[0])
		if want := map[bool]int{true: 502, false: 204}[strings.HasPrefix(tc.url, "https")]; res.StatusCode != want {
			t.Errorf("%s: %d", tc.url, res.StatusCode)
		}
	}
}
