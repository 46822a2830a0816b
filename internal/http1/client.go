package http1

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

// Options make a Client. The zero value of a duration means no limit.
type Options struct {
	// Dial opens a connection to the origin of u, TLS included where its scheme
	// wants that; required. Only scheme and host of u count.
	Dial func(ctx context.Context, u *url.URL) (net.Conn, error)

	// Forward says that Dial leads to a proxy, which is told the whole URL (RFC 9112
	// 3.2.2), together with Authorization as Proxy-Authorization unless it is empty.
	Forward       bool
	Authorization string

	ResponseHeaderTimeout time.Duration // from the end of the request
	IdleTimeout           time.Duration // of a connection that is kept
	ContinueTimeout       time.Duration // RFC 9110 10.1.1: content follows even without a 100

	HeaderBytes    int64 // bound of an answer's header sections, interim ones included; 0: 1 MiB
	MaxIdle        int   // connections that are kept in all; 0: none
	MaxIdlePerHost int   // and to one origin; 0: none
}

// Client sends requests and keeps connections. Make it with New; it is safe for
// concurrent use.
type Client struct {
	options Options
	pool    pool
}

// New returns a Client.
func New(o Options) *Client {
	if o.HeaderBytes <= 0 {
		o.HeaderBytes = http.DefaultMaxHeaderBytes
	}
	return &Client{options: o, pool: pool{max: o.MaxIdle, maxPerHost: o.MaxIdlePerHost, timeout: o.IdleTimeout}}
}

// ErrHeaderTooLarge is an answer whose header sections exceed Options.HeaderBytes.
var ErrHeaderTooLarge = errors.New("the header section of the answer is too large")

// interimKey is the context key of an Interim.
type interimKey struct{}

// InterimKey is the context key under which an Interim is looked for.
var InterimKey any = interimKey{}

// An Interim is told of interim answers (RFC 9110 15.2), but for 100 and 101, before
// RoundTrip returns. The header is its to keep; major is the answer's HTTP version.
type Interim interface {
	Interim(major, status int, header http.Header)
}

// RoundTrip implements http.RoundTripper. The URL's scheme and host name the origin,
// r.Host, or else the URL's, goes into the Host field; of the URL the rest is sent as URL.RequestURI
// gives it. The body of a 101 to a request with Upgrade is an io.ReadWriteCloser. Closing the body of an
// answer while the request's is still being sent breaks that off; reading it to
// its end does not.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if err := ctx.Err(); err != nil {
		closeBody(r)
		return nil, err
	}
	k := c.keyOf(r.URL)
	if kept := c.pool.take(k, !Repeatable(r)); kept != nil {
		res, err := kept.exchange(r)
		if err == nil || !stale(kept, err) || !Repeatable(r) || ctx.Err() != nil {
			return res, err
		}
	}
	conn, err := c.options.Dial(ctx, r.URL)
	if err != nil {
		closeBody(r)
		return nil, err
	}
	return newConn(c, k, conn).exchange(r)
}

// Kept reports whether there is a connection to the origin of u.
func (c *Client) Kept(u *url.URL) bool { return c.pool.has(c.keyOf(u)) }

// Keep gives the client a connection to the origin of u, for a request to come.
func (c *Client) Keep(u *url.URL, conn net.Conn) {
	kept := newConn(c, c.keyOf(u), conn)
	kept.fresh = true
	c.pool.put(kept)
}

// CloseIdleConnections closes what no request is using.
func (c *Client) CloseIdleConnections() { c.pool.closeAll() }

func (c *Client) keyOf(u *url.URL) key {
	if c.options.Forward {
		return key{}
	}
	return key{u.Scheme, u.Host}
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// stale reports whether err means that the origin had closed a kept connection
// before the request came.
func stale(c *conn, err error) bool {
	if c.heard {
		return false
	}
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Repeatable reports whether r may be sent again (RFC 9110 9.2.2): it is idempotent
// and has no content, of which a part may be gone.
func Repeatable(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return !hasBody(r)
	}
	return false
}

func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }
