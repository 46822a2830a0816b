package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/elazarl/goproxy"

	"heed/policy"
)

// plan is what a CONNECT has been found to be before it is answered.
type plan struct {
	origin policy.Origin // with the scheme https; the first octets may tell otherwise
	tunnel net.Conn      // the connection to the origin; nil when the CONNECT is intercepted
}

type planKey struct{}

// connect deals with a CONNECT: what must be refused is answered here, the rest
// goes through goproxy's hook to hijacked.
func (x *exchange) connect(r *http.Request) {
	x.rec.URL = withoutUserinfo(r.RequestURI)
	origin, err := connectAuthority(r, x.link)
	if err != nil {
		x.badRequest(policy.ReasonBadRequest, err)
		return
	}
	x.target = policy.Target{Origin: origin}
	if x.p.wentThrough(r.Header) {
		x.deliver(x.looped(r, errLoop))
		return
	}
	if d, refused := x.rules.RefusePort(x.set.connectPorts, origin.Port); refused {
		x.refusePort(d)
		return
	}
	pl := plan{origin: origin}
	if !x.intercepts(origin) {
		if !x.permitTunnel(r) {
			return
		}
		if pl.tunnel, err = x.set.dial(r.Context(), "tcp", origin.Address()); err != nil {
			x.deliver(x.failed(r, err))
			return
		}
		defer pl.tunnel.Close()
	}
	x.p.goproxy.ServeHTTP(&x.w, r.WithContext(context.WithValue(r.Context(), planKey{}, pl)))
}

// refusePort answers a CONNECT to a port that none may lead to (RFC 9110 9.3.6).
// Monitor mode is no help: no robots.txt is obeyed by it.
func (x *exchange) refusePort(d policy.Decision) {
	x.rec.Decision = d
	x.rec.Enforced = true
	ref := x.disallowed()
	ref.detail = fmt.Sprintf("CONNECT to port %d is not allowed: https.connect_ports does not name it", x.target.Origin.Port)
	x.refuse(ref)
}

// onConnect is goproxy's CONNECT hook.
func (p *Proxy) onConnect(host string, _ *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
	return &goproxy.ConnectAction{Action: goproxy.ConnectHijack, Hijack: p.hijacked}, host
}

// hijacked has the client's connection. It returns when the tunnel has ended, or
// when the inner server has taken the connection over; otherwise the end of the
// exchange closes it.
func (p *Proxy) hijacked(r *http.Request, conn net.Conn, _ *goproxy.ProxyCtx) {
	x := exchangeOf(r)
	pl, ok := r.Context().Value(planKey{}).(plan)
	client, isClient := conn.(*clientConn)
	if !ok || !isClient {
		x.fail(policy.ReasonInternal, errors.New("hijacked something else than a client's CONNECT"))
		return
	}
	client.origin, client.addr, client.user = pl.origin, x.rec.Client, x.rec.User
	x.silent = pl.tunnel == nil // what is said inside is recorded, not the CONNECT
	if !p.opening.add(client) {
		x.rec.Err = errShutdown.Error()
		return
	}
	defer p.opening.remove(client)
	if _, err := client.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		x.clientGone(err)
		return
	}
	x.w.status = http.StatusOK
	if pl.tunnel != nil {
		x.tunnel(client, pl.tunnel)
		return
	}
	x.intercept(client)
}

// connectAuthority reads the target of a CONNECT (RFC 9110 9.3.6): host and port,
// both mandatory.
func connectAuthority(r *http.Request, l *link) (policy.Origin, error) {
	authority := r.RequestURI
	if l.intercepted() {
		return policy.Origin{}, errors.New("CONNECT inside a tunnel")
	}
	if r.ContentLength != 0 {
		// It would be taken for what is said inside the tunnel.
		return policy.Origin{}, errors.New("CONNECT has no content (RFC 9110, section 9.3.6)")
	}
	if strings.Contains(authority, "/") {
		return policy.Origin{}, errors.New("the target of CONNECT is host:port, without scheme and path")
	}
	if !hasPort(authority) || strings.HasSuffix(authority, ":") {
		return policy.Origin{}, errors.New("the target of CONNECT is host:port, and the port is missing")
	}
	ascii, err := asciiHost(authority)
	if err != nil {
		return policy.Origin{}, err
	}
	return policy.ParseOrigin("https", ascii)
}

// permitTunnel decides on a tunnel and answers the CONNECT when it is refused.
func (x *exchange) permitTunnel(r *http.Request) bool {
	var err error
	d := &x.rec.Decision
	*d, x.rec.Access, err = x.rules.DecideConnect(r.Context(), x.set.tunnelPolicy, x.target.Origin)
	x.decided(err)
	if x.rec.Access.Own {
		x.deliver(x.looped(r, errOwn))
		return false
	}
	if d.Allowed() || x.rules.Monitor {
		return true
	}
	x.refuse(x.disallowed())
	return false
}
