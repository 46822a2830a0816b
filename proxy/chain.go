package proxy

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"

	"heed/internal/http1"
	"heed/internal/upstream"
)

// laneThrough is the way out through another proxy. A SOCKS proxy is a way to
// open connections, and all else stays as it is. To an HTTP proxy requests in the
// open are sent whole; the others travel in tunnels.
func laneThrough(p *upstream.Proxy, o TransportOptions) *lane {
	l := newLane(o, p.DialContext)
	u, forwards := p.Forwards()
	if !forwards {
		return l
	}
	forward := clientOptions(o, func(ctx context.Context, _ *url.URL) (net.Conn, error) {
		return p.DialProxy(ctx, "tcp", u.Host)
	})
	forward.Forward = true
	if u.User != nil {
		password, _ := u.User.Password()
		forward.Authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
	}
	l.proxy, l.sockets, l.open = p, l.open, http1.New(forward)
	return l
}

// roundTripOpen carries a request without TLS.
func (l *lane) roundTripOpen(r *http.Request) (*http.Response, error) {
	if l.proxy == nil {
		return l.open.RoundTrip(r)
	}
	if r.Header["Upgrade"] != nil {
		// RFC 6455 4.1: a WebSocket takes a tunnel through a proxy, which need
		// not understand it then.
		return l.sockets.RoundTrip(r)
	}
	if err := l.proxy.CheckURL(r.URL); err != nil {
		return nil, err
	}
	res, err := l.open.RoundTrip(r)
	if err == nil && res.StatusCode == http.StatusProxyAuthRequired {
		// It asks us. To the client it would be heed that asks, and to whoever
		// wants a robots.txt an origin that has none.
		_ = res.Body.Close()
		return nil, upstream.Refused(res.StatusCode)
	}
	return res, err
}

func (l *lane) closeIdle() {
	l.open.CloseIdleConnections()
	l.verified.closeIdle()
	l.unverified.closeIdle()
	if l.sockets != nil {
		l.sockets.CloseIdleConnections()
	}
}
