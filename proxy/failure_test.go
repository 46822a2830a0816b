package proxy_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"testing"
	"time"

	"heed/internal/netguard"
	"heed/policy"
	"heed/proxy"
)

// fault is an origin that fails. Its url is "" where it cannot be in that scheme.
type fault struct {
	name          string
	plain, secure string
	status        int
	token         string
}

func faults(t *testing.T) []fault {
	refused := deadAddress(t)
	raw := func(f func(net.Conn)) (plain, secure string) {
		plain, secure, _ = rawServers(t, f)
		return plain, secure
	}
	reset, resetInTLS := raw(func(c net.Conn) {
		_, _ = readHead(c)
		if s, ok := c.(*tls.Conn); ok {
			c = s.NetConn()
		}
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	})
	closed, closedInTLS := raw(func(c net.Conn) { _, _ = readHead(c) })
	garbage, garbageInTLS := raw(func(c net.Conn) {
		_, _ = readHead(c)
		_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.9 10.1.2.3\r\n\r\n")
	})
	length, lengthInTLS := raw(answering("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"))
	switched, switchedInTLS := raw(answering("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"))
	silent, silentInTLS := raw(func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	long, longInTLS := raw(answering("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 100<<10) + "\r\n\r\n"))
	_, untrusted, _ := rawServers(t, answering("HTTP/1.1 204 No Content\r\n\r\n"))
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(untrusted, "https://"))
	return []fault{
		{"refused", "http://" + refused, "https://" + refused, 502, "connection_refused"},
		{"name that does not resolve", "http://nowhere.invalid", "https://nowhere.invalid", 502, "dns_error"},
		{"name server that is late", "http://late.test", "https://late.test", 504, "dns_timeout"},
		{"reset", reset, resetInTLS, 502, "connection_terminated"},
		{"closed without an answer", closed, closedInTLS, 502, "connection_terminated"},
		{"no HTTP", garbage, garbageInTLS, 502, "http_protocol_error"},
		{"bad Content-Length", length, lengthInTLS, 502, "http_protocol_error"},
		{"switches protocols unasked", switched, switchedInTLS, 502, "http_upgrade_failed"},
		{"silent", silent, silentInTLS, 504, "http_response_timeout"},
		{"header too large", long, longInTLS, 502, "http_response_header_section_size"},
		{"denied address", "http://10.0.0.1", "https://10.0.0.1", 403, "destination_ip_prohibited"},
		{"name of a denied address", "http://inside.test", "https://inside.test", 403, "destination_ip_prohibited"},
		{"certificate for another name", "", "https://other.test:" + port, 502, "tls_certificate_error"},
		{"expired certificate", "", tlsOrigin(t, &tls.Config{Certificates: []tls.Certificate{expired(t)}}), 502, "tls_certificate_error"},
		{"no TLS", "", "https://" + rawOrigin(t, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }), 502, "tls_protocol_error"},
		{"silent in the handshake", "", "https://" + strings.TrimPrefix(silent, "http://"), 504, "connection_timeout"},
		{"refuses the handshake", "", tlsOrigin(t, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return nil, errors.New("no")
		}}), 502, "tls_alert_received"},
		{"closed in the handshake", "", "https://" + rawOrigin(t, func(net.Conn) {}), 502, "connection_terminated"},
	}
}

func TestFailuresOfAnOrigin(t *testing.T) {
	for _, f := range faults(t) {
		for _, p := range paths {
			url := map[bool]string{false: f.plain, true: f.secure}[p.secure]
			if url == "" {
				continue
			}
			t.Run(f.name+", "+p.name, func(t *testing.T) {
				h := start(t, robots{all: disallowPrivate}, nil, failing(t))
				c := h.client(p.http2)
				res, body := get(t, c, url+"/x")
				explained(t, res, f.status, f.token)
				for _, secret := range []string{"10.1.2.3", "10.9.9.9", "dial tcp", "lookup"} {
					if strings.Contains(body, secret) {
						t.Errorf("the body says too much: %s", body)
					}
				}
				r := recorded(h, 1)
				verdict, reason := policy.Error, policy.ReasonUpstream
				if f.status == 403 {
					verdict, reason = policy.Disallow, policy.ReasonEgressDenied
				}
				if r.Decision.Verdict != verdict || r.Decision.Reason != reason || r.ErrKind != f.token || r.Err == "" || r.Status != f.status ||
					r.URL != url+"/x" || r.Access.URL != url+"/robots.txt" {
					t.Errorf("record %+v", r)
				}

				var reused bool
				trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }}
				req, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", url+"/private/x", nil)
				res, err := c.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = bodyErr(res)
				if !reused || res.StatusCode != 403 {
					t.Errorf("next request: reused=%v, %d", reused, res.StatusCode)
				}
			})
		}
	}
}

func TestUntrustedCertificate(t *testing.T) {
	_, secure := origins(t, func(http.ResponseWriter, *http.Request) {})
	h := start(t, robots{}, nil)
	res, _ := get(t, h.client(true), secure.URL+"/x")
	explained(t, res, 502, "tls_certificate_error")
	if r := recorded(h, 1); !strings.Contains(r.Err, "unknown authority") {
		t.Errorf("record %+v", r)
	}
}

func TestInsecureHostsAreNotVerified(t *testing.T) {
	_, secure := origins(t, func(http.ResponseWriter, *http.Request) {})
	h := start(t, robots{}, nil, failing(t, "127.0.0.1"))
	if res, _ := get(t, h.client(true), secure.URL+"/x"); res.StatusCode != 200 {
		t.Errorf("status %d", res.StatusCode)
	}
}

// failing replaces the transport by one that is sooner at its limits and knows
// names that lead where they should not.
func failing(t *testing.T, insecure ...string) func(*proxy.Options) {
	guarded := netguard.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil).DialContext(2 * time.Second)
	hosts, err := proxy.ParseHosts(insecure)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *proxy.Options) {
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			switch host, port, _ := net.SplitHostPort(address); host {
			case "late.test":
				return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "i/o timeout", Name: host, Server: "10.9.9.9:53", IsTimeout: true}}
			case "inside.test":
				address = "10.1.2.3:" + port
			case "other.test":
				address = "127.0.0.1:" + port
			}
			return guarded(ctx, network, address)
		}
		transport := proxy.NewTransport(proxy.TransportOptions{
			Dial: o.Dial, TLS: &tls.Config{RootCAs: testRoots(t)}, Insecure: hosts,
			ResponseHeaderTimeout: time.Second, TLSHandshakeTimeout: time.Second, HeaderBytes: 64 << 10,
		})
		t.Cleanup(transport.CloseIdleConnections)
		o.Transport = transport
	}
}

// testRoots trusts the certificate that httptest's servers share.
func testRoots(t *testing.T) *x509.CertPool {
	s := httptest.NewTLSServer(nil)
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return roots
}

// deadAddress returns an address on which nobody listens.
func deadAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func tlsOrigin(t *testing.T, config *tls.Config) string {
	return "https://" + rawOrigin(t, func(c net.Conn) { _ = tls.Server(c, config).Handshake() })
}

func expired(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
