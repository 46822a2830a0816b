package proxy

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"

	"github.com/elazarl/goproxy"

	"heed/internal/netguard"
	"heed/policy"
)

// outgoing makes r the request that is sent to the origin. What it asks for is
// x.target and nothing else, octet by octet.
func (x *exchange) outgoing(r *http.Request) {
	origin := x.target.Origin
	path, _, _ := strings.Cut(x.target.Path, "?")
	// RFC 9112 3.2.4: OPTIONS of a URL without a path asks about the server.
	star := r.RequestURI == "*" || r.Method == http.MethodOptions && r.URL.Path == "" && r.URL.RawQuery == "" && !r.URL.ForceQuery
	r.URL.Scheme, r.URL.Host, r.URL.Opaque = origin.Scheme, origin.Authority(), ""
	r.Host = r.URL.Host // RFC 9110 7.2: generated from the target, not received
	switch {
	case star:
		r.URL.Path, r.URL.RawPath, r.URL.Opaque = "", "", "*"
	case r.URL.EscapedPath() == path || r.URL.Path == "" && path == "/":
	case strings.HasPrefix(path, "//"):
		// url.URL would read it as an authority; the absolute form is as good
		// (RFC 9112 3.2.2).
		r.URL.Opaque = "//" + r.URL.Host + path
	default:
		r.URL.Opaque = path
	}
	r.Close = false // which says what becomes of the client's connection
	scrubRequest(r)
	x.p.addVia(r.Header, x.req.ProtoMajor, x.req.ProtoMinor)
	x.set.rewriteAgent(r.Header)
}

// rewriteAgent applies agent.rewrite. A client that sent no User-Agent gets
// none from net/http either.
func (s *settings) rewriteAgent(h http.Header) {
	_, sent := h["User-Agent"]
	switch {
	case s.rewrite == RewriteAlways, s.rewrite == RewriteMissing && !sent:
		h["User-Agent"] = []string{s.userAgent}
	case !sent:
		h["User-Agent"] = []string{""}
	}
}

// roundTrip is the goproxy.RoundTripper of carried requests. It never returns an
// error: a failure is an answer too.
func (x *exchange) roundTrip(r *http.Request, _ *goproxy.ProxyCtx) (*http.Response, error) {
	res, err := x.set.transport.RoundTrip(r)
	if err == nil {
		if err = misread(res); err != nil {
			_ = res.Body.Close()
		}
	}
	if err == nil && res.StatusCode == http.StatusSwitchingProtocols {
		if _, ok := res.Body.(io.ReadWriteCloser); ok && r.Header["Upgrade"] != nil && listed(res.Header["Upgrade"], "websocket") {
			scrubResponse(res.Header, x.rec.Intercepted)
			switchToWebSocket(res.Header)
			x.p.addVia(res.Header, res.ProtoMajor, res.ProtoMinor)
			return res, nil // goproxy needs to write to the body
		}
		_ = res.Body.Close()
		err = errUpgrade
	}
	if err != nil {
		return x.failed(r, err), nil
	}
	if x.upload != nil && r.ProtoMajor == 1 {
		// Without it net/http discards the rest of an upload as soon as the
		// answer begins.
		_ = http.NewResponseController(x.w.ResponseWriter).EnableFullDuplex()
	}
	x.duplex = x.upload != nil
	x.w.empty = res.ContentLength == 0
	scrubResponse(res.Header, x.rec.Intercepted)
	x.p.addVia(res.Header, res.ProtoMajor, res.ProtoMinor)
	if res.Header["Content-Type"] == nil {
		res.Header["Content-Type"] = nil // present without a value: net/http does not guess one
	}
	if len(res.Trailer) > 0 && x.req.ProtoMajor == 1 && r.Method != http.MethodHead {
		res.Header.Del("Content-Length") // HTTP/1.1 has trailers only after chunks
	}
	res.Body = &watchedBody{ReadCloser: res.Body, x: x, trailer: &res.Trailer}
	return res, nil
}

// errUpgrade is a 101 that is no answer to the request.
var errUpgrade = errors.New("the origin switched protocols unasked")

// failed turns err into the answer that the client gets.
func (x *exchange) failed(r *http.Request, err error) *http.Response {
	if x.gone() {
		x.abandon(err)
	}
	if fault := x.upload.fault(); fault != nil {
		return x.bad(r, policy.ReasonBadRequest, fmt.Errorf("the request body cannot be read: %w", fault))
	}
	var denied *netguard.DeniedError
	if errors.As(err, &denied) && denied.Own {
		return x.looped(r, errOwn)
	}
	f := failureOf(err, x.target.Origin)
	x.rec.ErrKind = f.kind
	title := "The origin did not answer"
	if f.reason == policy.ReasonEgressDenied {
		x.rec.Decision.Verdict, x.rec.Decision.Reason, x.rec.Err = policy.Disallow, f.reason, err.Error()
		title = "Address not allowed"
	} else {
		x.fail(f.reason, err)
	}
	return x.answer(r, refusal{status: f.status, token: f.kind, title: title, detail: f.detail})
}

// Interim passes 1xx answers on (RFC 9110 15.2), but for 100, which net/http sends
// itself when the body is read. It implements http1.Interim.
func (x *exchange) Interim(major, status int, header http.Header) {
	if !x.req.ProtoAtLeast(1, 1) {
		return // RFC 9110 15.2: HTTP/1.0 does not know them
	}
	h := x.w.Header()
	maps.Copy(h, header)
	scrubResponse(h, x.rec.Intercepted)
	x.p.addVia(h, major, 1)
	x.w.ResponseWriter.WriteHeader(status)
	clear(h)
}

// watchedBody remembers that a body broke off. goproxy's copy would end the
// answer as if it were whole.
type watchedBody struct {
	io.ReadCloser
	x       *exchange
	trailer *http.Header // complete when the body ends
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		scrubResponse(*b.trailer, b.x.rec.Intercepted)
		scrubTrailer(*b.trailer)
	default:
		b.x.broke(err)
	}
	return n, err
}

// Close deals with the upload first: the transport waits for whoever reads it.
func (b *watchedBody) Close() error {
	if b.x.upload != nil {
		b.x.settle()
	}
	return b.ReadCloser.Close()
}

// broke notes that the rest of the origin's answer cannot be had.
func (x *exchange) broke(err error) {
	if x.gone() {
		x.clientGone(err)
		return
	}
	x.broken = true
	if fault := x.upload.fault(); fault != nil {
		x.fail(policy.ReasonBadRequest, fmt.Errorf("the request body cannot be read: %w", fault))
		return
	}
	x.rec.ErrKind = "http_response_incomplete"
	x.fail(policy.ReasonUpstream, err)
}
