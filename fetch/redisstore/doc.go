// Package redisstore keeps robots.txt files in Redis or Valkey, where a fleet of
// heeds shares them: one of them fetches, under a lease that ends by itself when
// its holder dies, and the others read what it found. What changes is told in a
// stream that each of them follows.
//
// The keys begin with "heed:1:", the 1 being the version of this layout:
//
//	heed:1:{ORIGIN}:entry   fetch.Entry as JSON
//	heed:1:{ORIGIN}:lease   who fetches it at present
//	heed:1:body:SHA256      a body, once for all origins that serve it
//	heed:1:changes          a stream: o is the origin, by the process
//
// All but the stream expire. Whoever can write there can make heed obey other
// rules: let nobody else.
package redisstore
