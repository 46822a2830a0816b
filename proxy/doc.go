// Package proxy carries HTTP requests for clients that must obey robots.txt.
//
// A [Proxy] is a forward proxy (RFC 9110 3.7). Plain requests and requests out
// of a decrypted tunnel travel one path: [Proxy.ServeHTTP] hands each to goproxy,
// whose request handler finds the canonical target, asks a [Decider] and either
// carries the request over the given transport or answers 403 with the rule
// that refused it. A CONNECT is hijacked; its TLS is ended with a certificate of
// heed's own and the decrypted connection is served by an inner http.Server,
// whose requests come back to ServeHTTP. Hosts that must not be intercepted are
// tunnelled, where that can be proved harmless.
//
// It implements the proxy's side of RFC 9110 (7.2, 7.6, 9.3.6), RFC 9112,
// RFC 9113 inside interception, Proxy-Status (RFC 9209) and problem details
// (RFC 9457). Every exchange ends in exactly one [Record].
//
// What net/http refuses by itself over HTTP/1.1 is explained and recorded, too.
// Over HTTP/2 it is not: a malformed request is a stream error there, or a bare
// answer of net/http's, and no handler hears of it.
//
// Deciding belongs to package policy, retrieving robots.txt to package fetch,
// writing records to the audit log.
package proxy
