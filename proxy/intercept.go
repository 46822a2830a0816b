package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"heed/policy"
)

// recordHandshake is the first octet of a TLS connection (RFC 8446 5.1).
const recordHandshake = 0x16

// intercept ends the client's TLS and hands the connection to the inner server.
// What is said in the open goes to the same server, as http. Anything else is a
// bad request, and silence ends after the header timeout.
func (x *exchange) intercept(client *clientConn) {
	x.limitSilence(client)
	first, err := client.peek()
	switch {
	case err != nil:
	case first == recordHandshake:
		x.interceptTLS(client)
	case isMethodStart(first):
		x.interceptPlain(client)
	default:
		x.silent = false
		x.fail(policy.ReasonBadRequest, errFirst(first))
	}
}

// limitSilence bounds the time that a client may take to say what it wants.
func (x *exchange) limitSilence(client *clientConn) {
	if x.p.headerTimeout > 0 {
		_ = client.SetDeadline(time.Now().Add(x.p.headerTimeout))
	}
}

func errFirst(octet byte) error {
	return fmt.Errorf("first octet 0x%02x: neither TLS nor HTTP", octet)
}

// serveInside hands a connection to the inner server, which closes it.
func (x *exchange) serveInside(client *clientConn, conn net.Conn) {
	_ = client.SetDeadline(time.Time{})
	x.p.opening.remove(client)
	x.w.conn = nil
	x.p.inner.push(conn)
}

// isMethodStart reports whether c can begin an HTTP/1.1 request line.
func isMethodStart(c byte) bool { return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' }

func (x *exchange) interceptPlain(client *clientConn) {
	client.origin.Scheme = "http"
	x.serveInside(client, &httpConn{Conn: client, client: client, p: x.p, fresh: true})
}

func (x *exchange) interceptTLS(client *clientConn) {
	config := x.p.tlsConfig
	if client.addr.Addr().Unmap().IsLoopback() {
		config = x.p.tlsLocal
	}
	conn := tls.Server(client, config)
	err := conn.HandshakeContext(context.Background()) // bounded by the deadline
	switch {
	case errors.Is(err, errLeaf):
		x.silent = false
		x.p.log.Error("no certificate to intercept with", "host", client.origin.Host, "error", err)
		x.fail(policy.ReasonInternal, err)
	case err != nil:
		x.p.handshakeFailed(client, err)
	case conn.ConnectionState().NegotiatedProtocol == "h2":
		// net/http recognises HTTP/2 by the type of the connection.
		x.serveInside(client, conn)
	default:
		x.serveInside(client, &httpConn{Conn: conn, client: client, p: x.p, fresh: true})
	}
}

// handshakeFailed names the commonest trouble of all in words that help.
func (p *Proxy) handshakeFailed(client *clientConn, err error) {
	if alert, ok := remoteAlert(err); ok && p.distrust.name(client.addr.Addr()) {
		p.log.Warn("client does not accept the interception certificate: let it trust heed's CA (heed ca export, heed env, heed run)",
			"client", client.addr, "host", client.origin.Host, "alert", alert)
		return
	}
	p.log.Debug("TLS handshake with client failed", "client", client.addr, "host", client.origin.Host, "error", err)
}

// errLeaf marks a handshake that failed for want of a certificate.
var errLeaf = errors.New("interception certificate")

// certificate answers a ClientHello with a leaf for the CONNECT host and the name
// that it asks for.
func (p *Proxy) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	client, ok := hello.Conn.(*clientConn)
	if !ok {
		return nil, fmt.Errorf("%w: asked for outside a tunnel", errLeaf)
	}
	names := []string{client.origin.Host}
	if hello.ServerName != "" {
		if sni, err := policy.ParseOrigin("https", hello.ServerName); err == nil && sni.Host != names[0] {
			names = append(names, sni.Host)
		}
	}
	leaf, err := p.leaf(names...)
	if err != nil {
		return nil, fmt.Errorf("%w for %s: %w", errLeaf, strings.Join(names, ", "), err)
	}
	return leaf, nil
}

// newTLSConfig returns the configuration of all intercepted connections. It is
// one, so that session tickets of one connection are good for the next.
func (p *Proxy) newTLSConfig() *tls.Config {
	c := &tls.Config{GetCertificate: p.certificate, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if p.http2 {
		c.NextProtos = []string{"h2", "http/1.1"}
	}
	return c
}

// localTLS leaves out the hybrid key exchanges, which make a handshake cost half as
// much again. They keep what is recorded on a network from quantum computers to
// come; nobody records the loopback interface who could not read the client's
// memory.
func localTLS(c *tls.Config) *tls.Config {
	c = c.Clone()
	c.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}
	return c
}

// serveIntercepted is the inner server's handler. It makes the request one that
// names its target, and the path is that of all requests from there on.
func (p *Proxy) serveIntercepted(w http.ResponseWriter, r *http.Request) {
	l := linkOf(r.Context())
	if !l.intercepted() {
		http.Error(w, "not a tunnel", http.StatusInternalServerError)
		return
	}
	if r.Method != http.MethodConnect {
		r.URL.Scheme, r.URL.Host = l.client.origin.Scheme, l.client.origin.Authority()
	}
	p.ServeHTTP(w, r)
}

// link is what the requests of one connection have in common.
type link struct {
	client *clientConn // the tunnel they came out of; nil outside one
	http   *httpConn   // nil for HTTP/2
	addr   netip.AddrPort
}

type linkKey struct{}

// linkOf returns the link that connContext put into the context, and an empty one
// where there is none.
func linkOf(ctx context.Context) *link {
	if l, ok := ctx.Value(linkKey{}).(*link); ok {
		return l
	}
	return &link{}
}

// user returns who opened the tunnel; "" outside one.
func (l *link) user() string {
	if l.client == nil {
		return ""
	}
	return l.client.user
}

// intercepted reports whether the requests come out of a tunnel.
func (l *link) intercepted() bool { return l.client != nil }

// connContext puts the link of c into the context of its requests.
func connContext(ctx context.Context, c net.Conn) context.Context {
	l := &link{}
	switch c := c.(type) {
	case *httpConn:
		l.http, l.client = c, c.client
	case *tls.Conn:
		l.client, _ = c.NetConn().(*clientConn)
	}
	if l.client != nil {
		l.addr = l.client.addr
	} else {
		l.addr = parseAddr(c.RemoteAddr().String())
	}
	return context.WithValue(ctx, linkKey{}, l)
}
