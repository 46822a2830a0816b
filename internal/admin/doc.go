// Package admin answers the admin listener: health and readiness for whoever
// supervises heed, metrics for Prometheus, and the certificate of the
// interception CA for whoever has to trust it.
//
// /healthz and /readyz are open to anybody. Everything else is kept from web
// pages that try to reach the listener through a browser, by DNS rebinding
// (a Host that is a foreign name) or from another origin, and asks for the bearer
// token where one is set.
//
// It serves no listener of its own and sets no time limits: New returns a
// handler, the caller owns the http.Server.
package admin
