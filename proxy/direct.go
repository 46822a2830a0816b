package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"heed/policy"
)

// DirectName is the host under which a client of the proxy finds the page that
// the proxy port answers to those who ask it directly. What ends in .invalid never
// resolves (RFC 6761 6.4), so no site is hidden by it.
const DirectName = "heed.invalid"

// direct answers a request to the proxy itself, in origin form. It is no exchange
// with an origin and has no record, unless there is no page to show.
func (p *Proxy) direct(_ http.ResponseWriter, r *http.Request) {
	x := exchangeOf(r)
	if p.page == nil {
		x.rec.URL = r.RequestURI
		x.badRequest(policy.ReasonBadRequest, errors.New("this is heed, a forward proxy: set http_proxy and https_proxy to its address and ask for an absolute URL"))
		return
	}
	x.silent = true
	p.page.ServeHTTP(&x.w, r)
}

// directResponse is the page as an answer to a request through the proxy.
func (x *exchange) directResponse(r *http.Request) *http.Response {
	x.silent = true
	w := &pageWriter{header: http.Header{}, status: http.StatusOK}
	x.p.page.ServeHTTP(w, r)
	return &http.Response{
		StatusCode:    w.status,
		Header:        w.header,
		Body:          io.NopCloser(&w.body),
		ContentLength: int64(w.body.Len()),
		Request:       r,
	}
}

// pageWriter keeps an answer in memory.
type pageWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *pageWriter) Header() http.Header         { return w.header }
func (w *pageWriter) WriteHeader(status int)      { w.status = status }
func (w *pageWriter) Write(b []byte) (int, error) { return w.body.Write(b) }
