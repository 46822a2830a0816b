package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"heed/policy"
)

// recordHandshake is the first octet of a TLS connection (RFC 8446 5.1).
const recordHandshake = 0x16

// intercept ends the client's TLS and hands the connection to the inner server.
// What is said in the open goes to the same server, as http. Anything else is a
// bad request, and silence ends after the header timeout.
func (x *exchange) intercept(client *clientConn) {
	x.silent = true // its requests are recorded, not the CONNECT
	if x.p.headerTimeout > 0 {
		_ = client.SetDeadline(time.Now().Add(x.p.headerTimeout))
	}
	first, err := client.peek()
	switch {
	case err != nil:
		_ = client.Close()
	case first == recordHandshake:
		x.interceptTLS(client)
	case isMethodStart(first):
		x.interceptPlain(client)
	default:
		_ = client.Close()
		x.silent = false
		x.fail(policy.ReasonBadRequest, fmt.Errorf("first octet 0x%02x: neither TLS nor HTTP", first))
	}
}

// isMethodStart reports whether c can begin an HTTP/1.1 request line.
func isMethodStart(c byte) bool { return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' }

func (x *exchange) interceptPlain(client *clientConn) {
	client.origin.Scheme = "http"
	_ = client.SetDeadline(time.Time{})
	x.p.inner.push(&httpConn{Conn: client, client: client, p: x.p})
}

func (x *exchange) interceptTLS(client *clientConn) {
	conn := tls.Server(client, x.p.tlsConfig)
	if err := conn.HandshakeContext(context.Background()); err != nil { // bounded by the deadline
		_ = client.Close()
		x.p.handshakeFailed(client, err)
		return
	}
	_ = client.SetDeadline(time.Time{})
	if conn.ConnectionState().NegotiatedProtocol == "h2" {
		// net/http recognises HTTP/2 by the type of the connection.
		x.p.inner.push(conn)
		return
	}
	x.p.inner.push(&httpConn{Conn: conn, client: client, p: x.p})
}

// handshakeFailed names the commonest trouble of all in words that help.
func (p *Proxy) handshakeFailed(client *clientConn, err error) {
	var alert tls.AlertError
	if errors.As(err, &alert) {
		p.log.Warn("client does not accept the interception certificate: it has to trust heed's CA (heed ca export)",
			"client", client.addr, "host", client.origin.Host, "alert", alert.Error())
		return
	}
	p.log.Debug("TLS handshake with client failed", "client", client.addr, "host", client.origin.Host, "error", err)
}

// certificate answers a ClientHello with a leaf for the name that it asks for
// and the CONNECT host.
func (p *Proxy) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	client, ok := hello.Conn.(*clientConn)
	if !ok {
		return nil, errors.New("certificate asked for outside a tunnel")
	}
	host := client.origin.Host
	if hello.ServerName == "" {
		return p.leaf(host)
	}
	sni, err := policy.ParseOrigin("https", hello.ServerName)
	if err != nil || sni.Host == host {
		return p.leaf(host)
	}
	return p.leaf(host, sni.Host)
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
	addr   addrPort
}

type linkKey struct{}

func linkOf(ctx context.Context) *link {
	l, _ := ctx.Value(linkKey{}).(*link)
	return l
}

// intercepted reports whether the requests come out of a tunnel. A nil link does not.
func (l *link) intercepted() bool { return l != nil && l.client != nil }

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
