// Package load sends requests through a proxy and measures what comes back. It
// does as little as it can for each request, because it takes its processor time
// from the proxy that it measures: requests are octets made beforehand, and of
// an answer only what says where it ends is looked at.
package load

import "time"

// Via is how a request travels.
type Via uint8

// The ways.
const (
	Plain     Via = iota // in absolute form, in the open (RFC 9112 3.2.2)
	Tunnel               // CONNECT, and TLS with the origin
	Intercept            // CONNECT, and TLS with the proxy
)

func (v Via) String() string { return [...]string{"plain", "tunnel", "intercept"}[v] }

// Work is what is asked for, and how.
type Work struct {
	Name, About string

	Via         Via
	Path        string // on the origin
	Size        int64  // octets of its content
	Connections int
	Streams     int  // of HTTP/2 on each connection; 0: HTTP/1.1
	New         bool // a connection for each request
	Hosts       bool // a host for each request that was never asked before; implies New
}

// Target is where the work goes.
type Target struct {
	Proxy  string        // its address; "" is none: straight to the origin
	Plain  string        // the origin's address, in the open
	Secure string        // and with TLS
	Host   func() string // the address of a host with TLS that was never asked before
	Issuer string        // the common name of who signs the origin's certificates
}

// Result is what was measured in the window.
type Result struct {
	Requests float64 // whole answers; of large ones the part that fell into the window counts
	Failed   int
	First    error // of the failures; nil when there is none
	Window   time.Duration
	P50, P99 time.Duration
}
