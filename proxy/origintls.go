package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"heed/internal/http1"
)

// secure reaches origins over TLS. Which HTTP an origin speaks is settled by ALPN
// (RFC 7301): the client of HTTP/2 opens connections, and hands those of HTTP/1.1
// to the other.
type secure struct {
	dial    dialer
	tls     *tls.Config
	timeout time.Duration // of the handshake
	http1   *http1.Client
	http2   *http.Transport
	sockets *http1.Client // for WebSockets
}

func newSecure(o TransportOptions, dial dialer, verify bool) *secure {
	s := &secure{dial: dial, tls: o.TLS.Clone(), timeout: o.TLSHandshakeTimeout}
	if s.tls == nil {
		s.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	s.tls.InsecureSkipVerify = !verify
	s.tls.ClientSessionCache = tls.NewLRUClientSessionCache(maxSessions)
	options := clientOptions(o, func(ctx context.Context, u *url.URL) (net.Conn, error) {
		return s.open(ctx, addressOf(u), "http/1.1")
	})
	s.http1 = http1.New(options)
	// A connection that is left of a WebSocket which was declined would keep the
	// requests to come from HTTP/2, without which gRPC is nothing.
	options.MaxIdle = 0
	s.sockets = http1.New(options)
	s.http2 = &http.Transport{
		DialTLSContext:         s.openEither,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		IdleConnTimeout:        o.IdleTimeout,
		ResponseHeaderTimeout:  o.ResponseHeaderTimeout,
		ExpectContinueTimeout:  continueTimeout,
		MaxResponseHeaderBytes: o.HeaderBytes,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: maxSilence, PingTimeout: maxSilence},
	}
	if limit := o.ResponseHeaderTimeout; limit > 0 {
		s.http2.HTTP2.SendPingTimeout, s.http2.HTTP2.PingTimeout = min(maxSilence, limit/2), min(maxSilence, limit)
	}
	return s
}

// maxSilence is how long nothing may come on a connection of HTTP/2 before the origin
// is asked whether it is there (RFC 9113 6.7), and its time to say so. Without that,
// all requests to come would wait for a connection that is dead.
const maxSilence = 15 * time.Second

// maxSessions is how many TLS sessions are kept for resumption (RFC 8446 2.2).
const maxSessions = 4096

// errHTTP1 says that a connection to an origin of HTTP/1.1 is there now.
var errHTTP1 = errors.New("the origin speaks HTTP/1.1")

// open opens a connection on which one of the protocols is spoken.
func (s *secure) open(ctx context.Context, address string, protocols ...string) (*tls.Conn, error) {
	conn, err := s.dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	config := s.tls.Clone()
	config.NextProtos = protocols
	config.ServerName, _, _ = net.SplitHostPort(address)
	if s.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.timeout, errHandshakeTimeout)
		defer cancel()
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, err
	}
	return secured, nil
}

// errHandshakeTimeout is an origin that does not finish the TLS handshake.
var errHandshakeTimeout = errors.New("TLS handshake timeout")

// openEither is the dial function of the HTTP/2 client.
func (s *secure) openEither(ctx context.Context, _, address string) (net.Conn, error) {
	conn, err := s.open(ctx, address, "h2", "http/1.1")
	if err != nil {
		return nil, err
	}
	if conn.ConnectionState().NegotiatedProtocol == "h2" {
		return conn, nil
	}
	if u, ok := ctx.Value(originKey{}).(*url.URL); ok {
		s.http1.Keep(u, conn)
	} else {
		_ = conn.Close()
	}
	return nil, errHTTP1
}

// originKey is the context key of the URL whose origin is dialled.
type originKey struct{}

// RoundTrip implements http.RoundTripper.
func (s *secure) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header["Upgrade"] != nil { // RFC 9113 8.2.2
		return s.sockets.RoundTrip(r)
	}
	if s.http1.Kept(r.URL) {
		return s.http1.RoundTrip(r)
	}
	body := &heldBody{ReadCloser: r.Body}
	var a attempt
	res, err := s.roundTrip2(r, body, &a)
	if err != nil && a.wasStale() && lost(err) && http1.Repeatable(r) && r.Context().Err() == nil {
		res, err = s.roundTrip2(r, body, new(attempt))
	}
	if errors.Is(err, errHTTP1) {
		return s.http1.RoundTrip(r)
	}
	body.letGo()
	return res, err
}

// lost reports whether err is the end of a connection, after which net/http repeats
// only what an origin of HTTP/2 says it has not seen (RFC 9113 6.8). It is
// net.ErrClosed where the end had been read while something was still written.
func lost(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed} {
		if errors.Is(err, end) {
			return true
		}
	}
	return strings.Contains(err.Error(), "client connection lost") // by net/http: a PING was not answered
}

// attempt is what becomes of a request over HTTP/2.
type attempt struct {
	interim http1.Interim // nil: nobody wants to be told
	mu      sync.Mutex
	stale   bool // on a connection that others had before, and nothing has come
	ended   bool // after the final answer an interim one would be out of order
}

func (a *attempt) gotConn(i httptrace.GotConnInfo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stale = i.Reused
}

func (a *attempt) got1xx(status int, header textproto.MIMEHeader) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stale = false
	if a.interim != nil && !a.ended && status != http.StatusContinue {
		a.interim.Interim(2, status, http.Header(header))
	}
	return nil
}

func (a *attempt) wasStale() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stale
}

func (a *attempt) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
}

func (s *secure) roundTrip2(r *http.Request, body *heldBody, a *attempt) (*http.Response, error) {
	ctx := context.WithValue(r.Context(), originKey{}, r.URL)
	a.interim, _ = ctx.Value(http1.InterimKey).(http1.Interim)
	defer a.end()
	r = r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: a.gotConn, Got1xxResponse: a.got1xx}))
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = body
	}
	return s.http2.RoundTrip(r)
}

func (s *secure) closeIdle() {
	s.http1.CloseIdleConnections()
	s.http2.CloseIdleConnections()
}

// heldBody is a request body that stays open until it is clear who sends it.
type heldBody struct {
	io.ReadCloser
	mu             sync.Mutex
	free, unwanted bool
}

// Close implements io.Closer.
func (b *heldBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.free {
		b.unwanted = true
		return nil
	}
	return b.ReadCloser.Close()
}

// letGo makes Close what it is, and does what it was asked for meanwhile.
func (b *heldBody) letGo() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free = true; b.unwanted {
		_ = b.ReadCloser.Close()
	}
}
