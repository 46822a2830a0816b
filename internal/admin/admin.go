package admin

import (
	"net/http"
	"strings"
)

// Options are what the listener shows. The zero value shows health alone, and
// is always ready.
type Options struct {
	// Listen is the address the listener was configured with, host:port. It
	// decides which Host fields are heed's own.
	Listen string

	Token   string   // bearer token; "" asks for none
	Checks  []Check  // all must pass for heed to be ready
	Metrics *Metrics // nil: there is no /metrics

	// Proxy is where the proxy listens, host:port, for /proxy.pac. Empty: there
	// is none.
	Proxy    string
	ProxyTLS bool // the proxy port speaks TLS

	Robots Robots // the zero value: there is no /api/robots

	// CA is the certificate of the interception CA in PEM, without its key.
	// Empty: nothing is intercepted, and /ca.pem says so.
	CA []byte
}

// A Check is one condition of readiness. Func returns nil while it holds; it is
// called for every question, from many goroutines, and must not wait. Its error
// is not shown, since the question may come from anybody.
type Check struct {
	Name string
	Func func() error
}

// New returns the handler of the admin listener. It may be used from many
// goroutines.
func New(o Options) http.Handler {
	open := http.NewServeMux()
	open.HandleFunc("GET /healthz", healthz)
	open.HandleFunc("GET /readyz", readyz(o.Checks))

	guarded := http.NewServeMux()
	guarded.HandleFunc("GET /{$}", index(o))
	guarded.HandleFunc("GET /ca.pem", caPEM(o.CA))
	if o.Proxy != "" {
		guarded.HandleFunc("GET /proxy.pac", adminPAC(o.Proxy, o.ProxyTLS))
	}
	o.Robots.handle(guarded, o.Token)
	if o.Metrics != nil {
		guarded.Handle("GET /metrics", o.Metrics.handler())
	}
	rest := sameSite(o.Listen, withToken(o.Token, guarded))
	return withHeaders(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/healthz", "/readyz":
			open.ServeHTTP(w, r)
		default:
			rest.ServeHTTP(w, r)
		}
	})
}

// withHeaders makes every answer one that is not stored, not sniffed and not
// embedded by anybody else's page.
func withHeaders(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		next(w, r)
	})
}

func healthz(w http.ResponseWriter, _ *http.Request) { writeText(w, "ok\n") }

func readyz(checks []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		var failing []string
		for _, c := range checks {
			if c.Func() != nil {
				failing = append(failing, c.Name)
			}
		}
		if len(failing) > 0 {
			http.Error(w, "not ready: "+strings.Join(failing, ", "), http.StatusServiceUnavailable)
			return
		}
		writeText(w, "ok\n")
	}
}

func caPEM(ca []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if len(ca) == 0 {
			http.Error(w, "heed intercepts nothing (https.mode: tunnel), so there is no CA to trust.", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/x-pem-file")
		w.Header().Set("Content-Disposition", `attachment; filename="heed-ca.pem"`)
		_, _ = w.Write(ca) // a client that went away has nobody left to tell
	}
}

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text)) // as in caPEM
}
