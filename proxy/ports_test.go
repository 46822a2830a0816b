package proxy_test

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"heed/policy"
	"heed/proxy"
)

func TestConnectPorts(t *testing.T) {
	_, secure := origins(t, func(http.ResponseWriter, *http.Request) {})
	port := secure.Listener.Addr().(*net.TCPAddr).AddrPort().Port()
	for _, monitor := range []bool{false, true} {
		h := start(t, robots{}, nil, func(o *proxy.Options) { o.ConnectPorts, o.Monitor = []uint16{443, port}, monitor })
		res := h.raw("CONNECT", "CONNECT h.example:25 HTTP/1.1\r\nHost: h.example:25\r\n\r\n")
		if res.StatusCode != 403 || !strings.Contains(res.Header.Get("Proxy-Status"), "https.connect_ports") {
			t.Errorf("CONNECT to port 25: %d %v", res.StatusCode, res.Header)
		}
		if r := h.wait(1)[0]; r.Decision.Verdict != policy.Disallow || r.Decision.Reason != policy.ReasonRestrictedTunnel || !r.Enforced || r.Status != 403 {
			t.Errorf("record %+v", r)
		}
		h.tunnel(secure.Listener.Addr().String())
	}
}
