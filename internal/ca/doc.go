// Package ca keeps heed's interception CA and mints the leaf certificates that tunnels are terminated with.
//
// The CA and its leaves follow RFC 5280: serial numbers (4.1.2.2), validity (4.1.2.5), authority and subject key
// identifiers (4.2.1.1, 4.2.1.2), key usage (4.2.1.3), subject alternative names (4.2.1.6), basic constraints
// (4.2.1.9) and extended key usage (4.2.1.12). A leaf names its hosts in the subject alternative name, the only place
// where RFC 9525 (6.3, which replaces RFC 6125) lets a client look.
//
// Every leaf of an [Authority] has one ECDSA P-256 key, made from crypto/rand when the Authority is opened and never
// written to disk.
//
// Left to others: which names a leaf is for and how they are brought to canonical form (proxy), the TLS handshake and
// its session tickets (proxy), verification of origins' own certificates (proxy, fetch), which variables tell a
// program to trust the CA (cmd). Nothing is revoked: a leaf lives shorter than a revocation list would take to matter,
// and a CA whose key has leaked is replaced with [Init].
package ca
