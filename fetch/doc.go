// Package fetch retrieves robots.txt, one for each origin, and remembers what
// came of it.
//
// It follows RFC 9309 2.3 (access method), 2.3.1 (access results: redirects,
// unavailable and unreachable status, body) and 2.4 and 2.5 (caching and size
// limit), and caches as RFC 9111 4.2 (freshness) and 4.3 (validation) say. Where the RFC leaves room it is strict: whatever is not a whole
// robots.txt or a plain "there is none" is unreachable, and an unreachable
// robots.txt disallows everything.
//
// What the rules mean is package policy's work. Which addresses may be dialled,
// and how TLS is verified, is up to the [http.RoundTripper] it is given; a
// [netguard.DeniedError] that comes out of it is recognised.
//
// A request waits until the file is there: nobody is let through meanwhile. Once
// it is, nobody waits for its refresh.
//
// What is remembered lives in memory, and beside that in a [Backend] where it
// outlives the process or is shared by a fleet. A backend that fails is done
// without.
package fetch
