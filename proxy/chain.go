package proxy

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"heed/internal/upstream"
)

// laneThrough is the way out through another proxy. A SOCKS proxy is a way to
// open connections, and all else stays as it is. To an HTTP proxy requests in the
// open are sent whole; the others travel in tunnels.
func laneThrough(p *upstream.Proxy, base *http.Transport) *lane {
	u, forwards := p.Forwards()
	if !forwards {
		base.DialContext = p.DialContext
		return newLane(base)
	}
	sockets := base.Clone()
	sockets.DialContext = p.DialContext
	base.DialContext = p.DialProxy
	base.Proxy = func(r *http.Request) (*url.URL, error) { return u, p.CheckURL(r.URL) }
	base.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
		if res.StatusCode != http.StatusOK {
			return upstream.Refused(res.StatusCode)
		}
		return nil
	}
	l := newLane(base)
	l.proxy, l.sockets = p, sockets
	return l
}

// roundTripOpen carries a request without TLS.
func (l *lane) roundTripOpen(r *http.Request) (*http.Response, error) {
	if l.proxy == nil {
		return l.verified.RoundTrip(r)
	}
	if r.Header["Upgrade"] != nil {
		// RFC 6455 4.1: a WebSocket takes a tunnel through a proxy, which need
		// not understand it then.
		return l.sockets.RoundTrip(r)
	}
	if path := r.URL.Opaque; path != "" && !strings.HasPrefix(path, "//") {
		// net/http would send it as it is, without scheme and host. A server's own
		// "*" is an empty path to a proxy (RFC 9112 3.2.4).
		absolute := *r.URL
		absolute.Opaque = "//" + r.URL.Host + strings.TrimPrefix(path, "*")
		clone := *r
		clone.URL = &absolute
		r = &clone
	}
	res, err := l.verified.RoundTrip(r)
	if err == nil && res.StatusCode == http.StatusProxyAuthRequired {
		// It asks us. To the client it would be heed that asks, and to whoever
		// wants a robots.txt an origin that has none.
		_ = res.Body.Close()
		return nil, upstream.Refused(res.StatusCode)
	}
	return res, err
}

func (l *lane) closeIdle() {
	l.verified.CloseIdleConnections()
	l.unverified.CloseIdleConnections()
	if l.sockets != nil {
		l.sockets.CloseIdleConnections()
	}
}
