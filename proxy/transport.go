package proxy

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

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
	verified, unverified *http.Transport
	proxy                *upstream.Proxy // that requests in the open are sent to; nil: to the origin
	sockets              *http.Transport // for WebSockets in the open, where there is such a proxy
}

// NewTransport returns a Transport. Environment proxies are ignored, bodies stay
// as the origin encoded them, and nothing is retried but what net/http knows to
// be safe.
func NewTransport(o TransportOptions) *Transport {
	base := &http.Transport{
		DialContext:            o.Dial,
		TLSClientConfig:        o.TLS.Clone(),
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConns:           maxIdleConns,
		MaxIdleConnsPerHost:    maxIdleConnsPerHost,
		IdleConnTimeout:        o.IdleTimeout,
		TLSHandshakeTimeout:    o.TLSHandshakeTimeout,
		ResponseHeaderTimeout:  o.ResponseHeaderTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: o.HeaderBytes,
	}
	t := &Transport{direct: newLane(base), upstreams: o.Upstreams, through: map[*upstream.Proxy]*lane{}, insecure: o.Insecure}
	for _, p := range o.Upstreams.All() {
		t.through[p] = laneThrough(p, base.Clone())
	}
	return t
}

func newLane(base *http.Transport) *lane {
	l := &lane{verified: base, unverified: base.Clone()}
	if l.unverified.TLSClientConfig == nil {
		l.unverified.TLSClientConfig = &tls.Config{}
	}
	l.unverified.TLSClientConfig.InsecureSkipVerify = true
	return l
}

const (
	// A busy origin is asked by many clients at once; net/http's default of two
	// idle connections a host would close almost every one after use.
	maxIdleConnsPerHost = 256
	// Descriptors are what idle connections cost; a crawl touches many hosts once.
	maxIdleConns = 4096
)

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
