package admin

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"heed/policy"
)

// Robots is the robots.txt cache that the listener shows and changes. What it
// hands out is sent as JSON. The functions are called from many goroutines and
// end with their context.
type Robots struct {
	List    func(context.Context) iter.Seq2[any, error]
	Show    func(context.Context, policy.Origin) (v any, found bool, err error)
	Refresh func(context.Context, policy.Origin) (any, error)
	Forget  func(context.Context, policy.Origin) error
}

// handle adds /api/robots to mux: GET lists all origins, one JSON object a line,
// or shows one with ?origin=; POST to refresh or forget changes one.
func (c Robots) handle(mux *http.ServeMux, token string) {
	if c.List == nil {
		return
	}
	mux.HandleFunc("GET /api/robots", func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("origin") {
			c.list(w, r)
			return
		}
		c.one(w, r, func(ctx context.Context, o policy.Origin) (any, bool, error) { return c.Show(ctx, o) })
	})
	mux.HandleFunc("POST /api/robots/refresh", changes(token, func(w http.ResponseWriter, r *http.Request) {
		c.one(w, r, func(ctx context.Context, o policy.Origin) (any, bool, error) {
			v, err := c.Refresh(ctx, o)
			return v, true, err
		})
	}))
	mux.HandleFunc("POST /api/robots/forget", changes(token, func(w http.ResponseWriter, r *http.Request) {
		c.one(w, r, func(ctx context.Context, o policy.Origin) (any, bool, error) {
			v, found, err := c.Show(ctx, o)
			if err == nil {
				err = c.Forget(ctx, o)
			}
			return v, found, err
		})
	}))
}

// changes asks for a token to be set, which withToken has then checked.
func changes(token string, next http.HandlerFunc) http.HandlerFunc {
	if token != "" {
		return next
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "Nothing can be changed here while admin.token is not set.", http.StatusForbidden)
	}
}

// listTime is what a list of very many origins may take.
const listTime = 10 * time.Minute

func (c Robots) list(w http.ResponseWriter, r *http.Request) {
	// A server that cannot do it keeps its own limit.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(listTime))
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := json.NewEncoder(w)
	begun := false
	for v, err := range c.List(r.Context()) {
		switch {
		case err != nil && begun:
			panic(http.ErrAbortHandler) // the list must not look complete
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		begun = true
		if out.Encode(v) != nil {
			return // as in caPEM
		}
	}
}

// one answers with what f knows of the origin that the request names.
func (c Robots) one(w http.ResponseWriter, r *http.Request, f func(context.Context, policy.Origin) (any, bool, error)) {
	target, err := policy.ParseTarget(r.URL.Query().Get("origin"))
	if err != nil {
		http.Error(w, "origin: "+err.Error(), http.StatusBadRequest)
		return
	}
	v, found, err := f(r.Context(), target.Origin)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case !found:
		http.Error(w, "nothing is remembered of "+target.Origin.String(), http.StatusNotFound)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // as in caPEM
	}
}
