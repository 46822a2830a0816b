package fetch

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"heed/policy"
)

// Defaults of [Options], taken for a field that is zero or negative.
const (
	DefaultUserAgent    = "heed"
	DefaultTimeout      = 10 * time.Second
	DefaultTTL          = 24 * time.Hour // RFC 9309 2.4: no longer
	DefaultErrorTTL     = 30 * time.Second
	DefaultMaxSize      = 512 << 10 // RFC 9309 2.5: at least 500 KiB
	DefaultMaxRedirects = 5         // RFC 9309 2.3.1.2: at least 5
	DefaultMaxOrigins   = 100_000
)

// maxMaxSize bounds MaxSize, so that a body always fits in memory.
const maxMaxSize = 1 << 30

// Options say how robots.txt is retrieved and for how long it is kept. The zero
// value makes a Store to which every origin is unreachable.
type Options struct {
	// Transport carries the requests, one hop at a time. It must honour the
	// context of a request and should bound dialling, TLS handshake and
	// response header. Nil carries nothing: a default could dial anywhere.
	Transport http.RoundTripper

	UserAgent    string        // User-Agent field; should hold the product token (RFC 9309 2.2.1)
	Timeout      time.Duration // for the whole of it: redirects, headers and body
	TTL          time.Duration // how long a successful or unavailable result is kept
	ErrorTTL     time.Duration // how long an unreachable result is kept
	MaxSize      int64         // octets of the decoded body that are parsed; at most 1 GiB
	MaxRedirects int           // redirects that are followed
	MaxOrigins   int           // origins that are kept in memory

	Log *slog.Logger // what was fetched; nil logs nothing

	// The hooks are called from many goroutines at once and hold up the request
	// they are called for. Nil calls nothing.
	OnFetch  func(policy.Result) // after each retrieval
	OnLookup func(hit bool)      // on each Access: whether the result was in memory
}

func (o Options) withDefaults() Options {
	if o.Transport == nil {
		o.Transport = roundTripper(func(*http.Request) (*http.Response, error) {
			return nil, errors.New("no transport is configured for robots.txt")
		})
	}
	if o.UserAgent == "" {
		o.UserAgent = DefaultUserAgent
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.TTL <= 0 {
		o.TTL = DefaultTTL
	}
	if o.ErrorTTL <= 0 {
		o.ErrorTTL = DefaultErrorTTL
	}
	if o.MaxSize <= 0 {
		o.MaxSize = DefaultMaxSize
	}
	o.MaxSize = min(o.MaxSize, maxMaxSize)
	if o.MaxRedirects <= 0 {
		o.MaxRedirects = DefaultMaxRedirects
	}
	if o.MaxOrigins <= 0 {
		o.MaxOrigins = DefaultMaxOrigins
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OnFetch == nil {
		o.OnFetch = func(policy.Result) {}
	}
	if o.OnLookup == nil {
		o.OnLookup = func(bool) {}
	}
	return o
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
