package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// sameSite refuses what a foreign web page could make a browser send. Such a
// page is bound to the name it came from: whatever address that name resolves to
// later (DNS rebinding), the Host field still carries the name, which is not
// heed's. A request from another origin says so in its Origin field.
func sameSite(listen string, next http.Handler) http.Handler {
	own, shared := hostOf(listen), listen != "" && !loopback(hostOf(listen))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ownHost(hostOf(r.Host), own, shared) {
			http.Error(w, "This Host is not heed's. Ask for the admin listener by its IP address or as localhost.",
				http.StatusForbidden)
			return
		}
		if !sameOrigin(r) {
			http.Error(w, "This Origin is not heed's. Other sites may not ask the admin listener.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownHost reports whether host can be meant for a listener on own, both as
// hostOf returns them. An IP literal can: only a name can be rebound. So can
// localhost, the name that was configured and, where the listener is shared with
// other machines, a name without a dot, as containers know each other by: the
// public DNS has none to give away.
func ownHost(host, own string, shared bool) bool {
	if host == "" {
		return false
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || host == own || shared && !strings.Contains(host, ".")
}

// loopback reports whether a listener on host serves this machine alone. An
// empty host is every interface.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host == "localhost"
	}
	return addr.Unmap().IsLoopback()
}

// hostOf returns the host of an authority in lower case, without port, brackets
// and the dot that ends a rooted name.
func hostOf(authority string) string {
	host, _, err := net.SplitHostPort(authority)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(authority, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// sameOrigin reports whether a request comes from no origin or from our own.
// The scheme is not compared: a TLS terminator in front changes it.
func sameOrigin(r *http.Request) bool {
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	return len(origins) == 1 && err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// withToken asks for a bearer token (RFC 6750), unless token is empty.
func withToken(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		// Digests have one length, so that the time taken tells nothing of the
		// token's.
		got := sha256.Sum256([]byte(strings.TrimLeft(given, " ")))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 || !strings.EqualFold(scheme, "Bearer") {
			w.Header().Set("WWW-Authenticate", `Bearer realm="heed admin"`)
			http.Error(w, "Send the value of admin.token: Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
