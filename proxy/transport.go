package proxy

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"time"

	"heed/internal/http1"
	"heed/internal/upstream"
	"heed/policy"
)

// TransportOptions say how origins are reached. The zero value of a duration
// means no limit, of Dial net.Dialer's own behaviour, which no guard checks.
type TransportOptions struct {
	Dial                  func(ctx context.Context, network, address string) (net.Conn, error)
	TLS                   *tls.Config       // roots; nil: the system's
	Insecure              Hosts             // certificates of these are not verified
	Upstreams             *upstream.Proxies // that lead out, where they do; nil: none
	ResponseHeaderTimeout time.Duration
	TLSHandshakeTimeout   time.Duration
	IdleTimeout           time.Duration
	HeaderBytes           int64 // bound of an origin's header section
}

// Transport reaches origins over HTTP/1.1 and HTTP/2. It is shared by carried
// requests and robots.txt fetches and safe for concurrent use.
type Transport struct {
	direct    *lane
	upstreams *upstream.Proxies
	through   map[*upstream.Proxy]*lane
	insecure  Hosts
}

// lane is one way out.
type lane struct {
	open                 *http1.Client // requests without TLS
	verified, unverified *secure
	proxy                *upstream.Proxy // that requests in the open are sent to; nil: to the origin
	sockets              *http1.Client   // for WebSockets in the open, where there is such a proxy
}

// NewTransport returns a Transport. Environment proxies are ignored, bodies stay
// as the origin encoded them, and nothing is sent twice but an idempotent request
// without content, once, when a kept connection turns out to be closed.
func NewTransport(o TransportOptions) *Transport {
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	t := &Transport{direct: newLane(o, o.Dial), upstreams: o.Upstreams, through: map[*upstream.Proxy]*lane{}, insecure: o.Insecure}
	for _, p := range o.Upstreams.All() {
		t.through[p] = laneThrough(p, o)
	}
	return t
}

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

func newLane(o TransportOptions, dial dialer) *lane {
	return &lane{open: newOpen(o, dial), verified: newSecure(o, dial, true), unverified: newSecure(o, dial, false)}
}

// newOpen returns a client of origins without TLS.
func newOpen(o TransportOptions, dial dialer) *http1.Client {
	return http1.New(clientOptions(o, func(ctx context.Context, u *url.URL) (net.Conn, error) {
		return dial(ctx, "tcp", addressOf(u))
	}))
}

func clientOptions(o TransportOptions, dial func(context.Context, *url.URL) (net.Conn, error)) http1.Options {
	return http1.Options{
		Dial:                  dial,
		ResponseHeaderTimeout: o.ResponseHeaderTimeout,
		IdleTimeout:           o.IdleTimeout,
		ContinueTimeout:       continueTimeout,
		HeaderBytes:           o.HeaderBytes,
		MaxIdle:               maxIdleConns,
		MaxIdlePerHost:        maxIdleConnsPerHost,
	}
}

const (
	// A busy origin is asked by many clients at once; net/http's default of two
	// idle connections a host would close almost every one after use.
	maxIdleConnsPerHost = 256
	// Descriptors are what idle connections cost; a crawl touches many hosts once.
	maxIdleConns = 4096
	// Origins that do not know 100 are sent the content after this (RFC 9110 10.1.1).
	continueTimeout = time.Second
)

// addressOf returns what is dialled for u.
func addressOf(u *url.URL) string {
	port := u.Port()
	if port != "" {
		return u.Host
	}
	if port = "80"; u.Scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	l := t.direct
	p, err := t.upstreams.For(r.URL)
	if err != nil {
		return nil, err
	}
	if p != nil {
		l = t.through[p]
	}
	if r.URL.Scheme == "https" {
		if len(t.insecure.exact) > 0 || len(t.insecure.suffix) > 0 {
			if o, err := policy.ParseOrigin(r.URL.Scheme, r.URL.Host); err == nil && t.insecure.Has(o) {
				return l.unverified.RoundTrip(r)
			}
		}
		return l.verified.RoundTrip(r)
	}
	return l.roundTripOpen(r)
}

// CloseIdleConnections closes what no request is using.
func (t *Transport) CloseIdleConnections() {
	t.direct.closeIdle()
	for _, l := range t.through {
		l.closeIdle()
	}
}
