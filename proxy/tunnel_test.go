package proxy_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"heed/policy"
	"heed/proxy"
)

func TestTunnelPolicies(t *testing.T) {
	_, secure := origins(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "from the origin") })
	for _, tc := range []struct {
		name    string
		robots  string
		policy  proxy.TunnelPolicy
		monitor bool
		reason  policy.Reason
		opened  bool
	}{
		{"unrestricted, nothing disallowed", "User-agent: *\nAllow: /\nDisallow:\n", proxy.TunnelUnrestricted, false, policy.ReasonUnrestrictedTunnel, true},
		{"unrestricted, nothing disallowed to this agent", "User-agent: testbot\nAllow: /\n\nUser-agent: *\nDisallow: /\n", proxy.TunnelUnrestricted, false, policy.ReasonUnrestrictedTunnel, true},
		{"unrestricted, a page disallowed", "User-agent: *\nDisallow: /one-page\n", proxy.TunnelUnrestricted, false, policy.ReasonRestrictedTunnel, false},
		{"monitor mode opens unread", "User-agent: *\nDisallow: /one-page\n", proxy.TunnelUnrestricted, true, policy.ReasonUnchecked, true},
		{"allow opens unread", "User-agent: *\nDisallow: /\n", proxy.TunnelAllow, false, policy.ReasonUnchecked, true},
		{"deny", "", proxy.TunnelDeny, false, policy.ReasonRestrictedTunnel, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := start(t, robots{all: tc.robots}, nil, func(o *proxy.Options) {
				o.TunnelPolicy, o.Monitor = tc.policy, tc.monitor
				o.TunnelHosts, _ = proxy.ParseHosts([]string{"127.0.0.1"}) // the rest would be intercepted
			})
			c := h.client(true)
			c.Transport.(*http.Transport).TLSClientConfig.RootCAs = secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
			res, err := c.Get(secure.URL + "/one-page")
			if !tc.opened {
				if err == nil || !strings.Contains(err.Error(), "Forbidden") {
					t.Errorf("got %v, %v; want the CONNECT refused", res, err)
				}
				r := h.wait(1)[0]
				if r.Decision.Reason != tc.reason || r.Decision.Verdict != policy.Disallow || r.Status != 403 || r.Method != "CONNECT" {
					t.Errorf("record %+v", r)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := bodyErr(res); err != nil || res.StatusCode != 200 {
				t.Errorf("%d %v", res.StatusCode, err)
			}
			first := h.wait(1)[0]
			if first.Event != proxy.EventOpen || first.Decision.Reason != tc.reason || first.Status != 200 || first.Intercepted || first.Enforced == tc.monitor {
				t.Errorf("open record %+v", first)
			}
			if n := h.proxy.OpenTunnels(); n != 1 {
				t.Errorf("%d tunnels open, want 1", n)
			}
			c.CloseIdleConnections()
			last := h.wait(2)[1]
			// What the origin says to a client that has closed comes back as a reset.
			late := strings.Contains(last.Err, "reset by peer") || strings.Contains(last.Err, "broken pipe")
			if last.Event != proxy.EventClose || last.ID != first.ID || last.RequestBytes == 0 || last.ResponseBytes == 0 || last.Err != "" && !late {
				t.Errorf("close record %+v", last)
			}
		})
	}
}

func TestRefusedTunnelSaysHowToChangeThat(t *testing.T) {
	h := start(t, robots{all: disallowPrivate}, nil, func(o *proxy.Options) { o.Leaf = nil })
	res := h.raw("CONNECT", "CONNECT h.example:443 HTTP/1.1\r\nHost: h.example:443\r\n\r\n")
	body, _ := io.ReadAll(res.Body)
	for _, want := range []string{"https.tunnel_policy", "https.mode", "Disallow: /private/", "restricted-tunnel"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("the refusal does not name %s: %s", want, body)
		}
	}
}

// A tunnel was judged by its CONNECT host; its server name may lead elsewhere.
func TestServerNameOfATunnel(t *testing.T) {
	_, secure := origins(t, func(http.ResponseWriter, *http.Request) { t.Error("the origin was asked") })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(secure.URL, "https://"))
	h := start(t, robots{}, nil, func(o *proxy.Options) { o.Leaf = nil })
	c := h.tunnel("allowed.example:" + port)
	err := tls.Client(c, &tls.Config{ServerName: "other.example", InsecureSkipVerify: true}).Handshake()
	if err == nil {
		t.Error("the handshake went through")
	}
	if r := h.wait(1)[0]; r.Decision.Reason != policy.ReasonHostMismatch || r.Decision.Verdict != policy.Error {
		t.Errorf("record %+v", r)
	}
	s := tls.Client(h.tunnel("allowed.example:"+port), &tls.Config{ServerName: "Allowed.example", InsecureSkipVerify: true})
	if err := s.Handshake(); err != nil {
		t.Errorf("the CONNECT host as server name: %v", err)
	}
	_ = s.Close()
}

// One side of a tunnel may end its sending and go on receiving.
func TestTunnelHalfClose(t *testing.T) {
	cert := httptest.NewUnstartedServer(nil)
	cert.StartTLS()
	defer cert.Close()
	origin := rawOrigin(t, func(c net.Conn) {
		s := tls.Server(c, &tls.Config{Certificates: cert.TLS.Certificates})
		got, _ := io.ReadAll(s) // up to the client's close_notify
		fmt.Fprintf(s, "got %d", len(got))
		_ = s.Close()
	})
	h := start(t, robots{}, nil, func(o *proxy.Options) { o.Leaf = nil })
	s := tls.Client(h.tunnel(origin), &tls.Config{InsecureSkipVerify: true})
	if _, err := s.Write(bytes.Repeat([]byte("x"), 100000)); err != nil {
		t.Fatal(err)
	}
	_ = s.CloseWrite()
	answer, err := io.ReadAll(s)
	if string(answer) != "got 100000" || err != nil {
		t.Errorf("%q %v", answer, err)
	}
}

func TestTunnelToNowhere(t *testing.T) {
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	closed := l.Addr().String()
	_ = l.Close()
	h := start(t, robots{}, nil, func(o *proxy.Options) { o.Leaf = nil })
	for i, tc := range []struct {
		authority, token string
		status           int
		reason           policy.Reason
	}{
		{closed, "connection_refused", 502, policy.ReasonUpstream},
		{"10.0.0.1:443", "destination_ip_prohibited", 403, policy.ReasonEgressDenied},
		{"nowhere.invalid:443", "dns_error", 502, policy.ReasonUpstream},
	} {
		res := h.raw("CONNECT", "CONNECT "+tc.authority+" HTTP/1.1\r\nHost: x\r\n\r\n")
		r := h.wait(i + 1)[i]
		if res.StatusCode != tc.status || !strings.Contains(res.Header.Get("Proxy-Status"), "error="+tc.token+";") || r.Decision.Reason != tc.reason || r.ErrKind != tc.token {
			t.Errorf("%s: %d %s, record %+v", tc.authority, res.StatusCode, res.Header.Get("Proxy-Status"), r)
		}
	}
}
