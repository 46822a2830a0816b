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
	DefaultMinTTL       = time.Minute
	DefaultErrorTTL     = 30 * time.Second
	DefaultStaleFor     = 30 * 24 * time.Hour // RFC 9309 2.3.1.4: "for example, 30 days"
	DefaultMaxSize      = 512 << 10           // RFC 9309 2.5: at least 500 KiB
	DefaultMaxRedirects = 5                   // RFC 9309 2.3.1.2: at least 5
	DefaultMaxOrigins   = 100_000
	DefaultMaxMemory    = 256 << 20
	DefaultMaxFetches   = 256
	DefaultMaxWaiting   = 1000
	DefaultStoreTimeout = 250 * time.Millisecond
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
	Timeout      time.Duration // for the whole of a retrieval: redirects, headers and body
	TTL          time.Duration // a result is never fresh for longer; it wins over MinTTL
	MinTTL       time.Duration // a shorter freshness is raised to this
	ErrorTTL     time.Duration // an unreachable result is tried again after this, doubling to an hour
	StaleFor     time.Duration // the last good copy rules an unreachable origin for this long; negative: not at all
	MaxSize      int64         // octets of the decoded body that are parsed; at most 1 GiB
	MaxRedirects int           // redirects that are followed
	MaxOrigins   int           // origins that are kept in memory
	MaxMemory    int64         // octets they and their files take there, by estimate
	MaxFetches   int           // retrievals at one time, beside 15 times as many that have taken 200 ms
	MaxWaiting   int           // requests that wait for the same robots.txt

	// Backend outlives the process, or is shared by a fleet if it is a [Fleet].
	// Nil keeps everything in memory alone. The caller closes it, after the
	// Store.
	Backend      Backend
	StoreTimeout time.Duration // for all that one request asks of the backend

	Log *slog.Logger // what was fetched and what failed; nil logs nothing

	// The hooks are called from many goroutines at once and hold up the request
	// they are called for. Nil calls nothing.
	OnFetch  func(policy.Result) // after each retrieval
	OnLookup func(Lookup)        // on each Access that was answered: where from
	// OnFile is told of each file that was retrieved, found unchanged or taken from
	// the backend, before anything is decided on it. The body must not be changed.
	OnFile func(o policy.Origin, a policy.Access, body []byte)
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
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OnFetch == nil {
		o.OnFetch = func(policy.Result) {}
	}
	if o.OnLookup == nil {
		o.OnLookup = func(Lookup) {}
	}
	if o.OnFile == nil {
		o.OnFile = func(policy.Origin, policy.Access, []byte) {}
	}
	if o.StaleFor == 0 {
		o.StaleFor = DefaultStaleFor
	}
	positive(&o.Timeout, DefaultTimeout)
	positive(&o.TTL, DefaultTTL)
	positive(&o.MinTTL, DefaultMinTTL)
	positive(&o.ErrorTTL, DefaultErrorTTL)
	positive(&o.StoreTimeout, DefaultStoreTimeout)
	positive(&o.MaxSize, DefaultMaxSize)
	positive(&o.MaxRedirects, DefaultMaxRedirects)
	positive(&o.MaxOrigins, DefaultMaxOrigins)
	positive(&o.MaxMemory, DefaultMaxMemory)
	positive(&o.MaxFetches, DefaultMaxFetches)
	positive(&o.MaxWaiting, DefaultMaxWaiting)
	o.MinTTL = min(o.MinTTL, o.TTL)
	o.MaxSize = min(o.MaxSize, maxMaxSize)
	return o
}

func positive[N int | int64 | time.Duration](n *N, fallback N) {
	if *n <= 0 {
		*n = fallback
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A Lookup is where the answer to an Access came from.
type Lookup uint8

// The lookups. The zero value is the dearest.
const (
	Miss   Lookup = iota // the origin was asked, or could not be
	Hit                  // memory
	Stale                // memory, past its freshness
	Stored               // the backend
)

// String returns the label of heed_robots_cache_total.
func (l Lookup) String() string {
	switch l {
	case Hit:
		return "hit"
	case Stale:
		return "stale"
	case Stored:
		return "store"
	default:
		return "miss"
	}
}
