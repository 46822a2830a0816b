package admin

import (
	_ "embed"
	"net"
	"net/http"
	"strings"

	"heed/proxy"
)

// DirectOptions are what the page of the proxy port shows.
type DirectOptions struct {
	// Address is where the proxy listens, host:port. It is shown where the
	// request does not tell by which name the proxy was reached.
	Address string
	TLS     bool // the proxy port speaks TLS

	// CA is the certificate of the interception CA in PEM, and Fingerprint its
	// SHA-256 digest. Empty: nothing is intercepted, and the page says so.
	CA          []byte
	Fingerprint string
}

var (
	//go:embed direct.html
	directHTML string
	//go:embed direct.txt
	directText string
)

// Direct returns what the proxy port answers to a request for itself: a page
// that says what it is and how to use it, /ca.pem and /proxy.pac. It shows
// nothing that is not public, and may be used from many goroutines.
func Direct(o DirectOptions) http.Handler {
	pages := map[string]http.HandlerFunc{
		"/":          directIndex(o),
		"/ca.pem":    caPEM(o.CA),
		"/proxy.pac": proxyPAC(o.Address, o.TLS),
	}
	// No ServeMux: it would send a path that is not clean elsewhere.
	return withHeaders(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		switch {
		case !ok:
			http.Error(w, "This is heed, a forward proxy, and it has no such page. See / for how to use it.", http.StatusNotFound)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "This is heed, a forward proxy: its own pages can only be read.", http.StatusMethodNotAllowed)
		default:
			page(w, r)
		}
	})
}

func directIndex(o DirectOptions) http.HandlerFunc {
	scheme := "http://"
	if o.TLS {
		scheme = "https://"
	}
	return func(w http.ResponseWriter, r *http.Request) {
		// reachedAs lets no octet through that means anything to HTML.
		fill := strings.NewReplacer("@PROXY@", scheme+reachedAs(r, o.Address), "@FINGERPRINT@", o.Fingerprint).Replace
		w.Header().Set("Vary", "Accept")
		if !strings.Contains(r.Header.Get("Accept"), "text/html") {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			writeText(w, fill(directVariant(directText, o)))
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		_, _ = w.Write([]byte(fill(directVariant(directHTML, o)))) // a client that went away has nobody left to tell
	}
}

// directVariant chooses between the two middle parts of a page: with a CA to trust,
// and without.
func directVariant(page string, o DirectOptions) string {
	parts := strings.Split(page, "@---@\n")
	if o.Fingerprint != "" {
		return parts[0] + parts[1] + parts[3]
	}
	return parts[0] + parts[2] + parts[3]
}

// proxyPAC answers with a proxy auto-configuration for the address by which the
// client got here.
func proxyPAC(address string, secure bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { writePAC(w, reachedAs(r, address), secure) }
}

// adminPAC is proxyPAC for the admin listener, which is reached by the name of
// the proxy's host but on another port.
func adminPAC(address string, secure bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		proxy := address
		if _, port, err := net.SplitHostPort(address); err == nil && hostOf(r.Host) != "" {
			proxy = net.JoinHostPort(hostOf(r.Host), port)
		}
		writePAC(w, proxy, secure)
	}
}

// writePAC leads everything through the proxy, and nothing around it.
func writePAC(w http.ResponseWriter, proxy string, secure bool) {
	kind := "PROXY"
	if secure {
		kind = "HTTPS"
	}
	w.Header().Set("Content-Type", "application/x-ns-proxy-autoconfig")
	_, _ = w.Write([]byte("function FindProxyForURL(url, host) {\n  return \"" + kind + " " + proxy + "\";\n}\n"))
}

// reachedAs returns the address by which the client got here: what it wrote
// into Host, unless that is the page's own name, or no address at all.
func reachedAs(r *http.Request, address string) string {
	host := hostOf(r.Host)
	if host == proxy.DirectName || host == "" || strings.ContainsFunc(r.Host, notOfAddresses) {
		return address
	}
	return r.Host
}

func notOfAddresses(c rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]", c)
}
