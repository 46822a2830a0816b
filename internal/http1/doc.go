// Package http1 is a client of HTTP/1.1 (RFC 9112) for a proxy: an exchange with
// an origin takes place on the goroutine that asks for it, and only the content of
// a request has one of its own.
//
// It differs from net/http's Transport where a proxy needs more: an origin that
// answers early still gets the rest of the upload, for as long as its answer's
// body is kept open; octets beyond an answer end the connection before anybody can
// take them for the next answer; what failed on a kept connection is repeated once
// at most, where RFC 9110 9.2.2 lets it be; and nothing is added to a request.
// Parsing an answer is net/http's, through http.ReadResponse.
//
// It leaves to others: opening connections, TLS, HTTP/2, cookies, redirects,
// decompression, and which fields may be passed on (RFC 9110 7.6.1).
package http1
