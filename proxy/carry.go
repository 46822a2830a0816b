package proxy

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"

	"github.com/elazarl/goproxy"

	"heed/policy"
)

// outgoing makes r the request that is sent to the origin. What it asks for is
// x.target and nothing else, octet by octet.
func (x *exchange) outgoing(r *http.Request) {
	x.carried = true
	origin := x.target.Origin
	path, _, _ := strings.Cut(x.target.Path, "?")
	r.URL.Scheme, r.URL.Host, r.URL.User = origin.Scheme, origin.Authority(), nil
	r.Host = r.URL.Host // RFC 9110 7.2: generated from the target, not received
	switch {
	case r.RequestURI == "*":
		r.URL.Path, r.URL.RawPath, r.URL.Opaque = "", "", "*"
	case r.URL.EscapedPath() == path || r.URL.Path == "" && path == "/":
	case strings.HasPrefix(path, "//"):
		// url.URL would read it as an authority; the absolute form is as good
		// (RFC 9112 3.2.2).
		r.URL.Opaque = "//" + r.URL.Host + path
	default:
		r.URL.Opaque = path
	}
	scrubRequest(r.Header)
	x.p.rewriteAgent(r.Header)
}

// rewriteAgent applies agent.rewrite. A client that sent no User-Agent gets
// none from net/http either.
func (p *Proxy) rewriteAgent(h http.Header) {
	_, sent := h["User-Agent"]
	switch {
	case p.rewrite == RewriteAlways, p.rewrite == RewriteMissing && !sent:
		h["User-Agent"] = []string{p.userAgent}
	case !sent:
		h["User-Agent"] = []string{""}
	}
}

// roundTrip is the goproxy.RoundTripper of carried requests. It never returns an
// error: a failure is an answer too.
func (x *exchange) roundTrip(r *http.Request, _ *goproxy.ProxyCtx) (*http.Response, error) {
	r, stopInterim := x.relayInterim(r)
	res, err := x.p.transport.RoundTrip(r)
	stopInterim()
	if err == nil && res.StatusCode == http.StatusSwitchingProtocols && r.Header["Upgrade"] == nil {
		_ = res.Body.Close()
		err = errors.New("the origin switched protocols unasked")
	}
	if err != nil {
		return x.failed(r, err), nil
	}
	scrubResponse(res, x.rec.Intercepted)
	if body, ok := res.Body.(io.ReadWriteCloser); ok && res.StatusCode == http.StatusSwitchingProtocols {
		res.Body = body // a WebSocket: goproxy needs to write to it
	} else {
		res.Body = &watchedBody{ReadCloser: res.Body, x: x, r: r}
	}
	return res, nil
}

// failed turns err into the answer that the client gets.
func (x *exchange) failed(r *http.Request, err error) *http.Response {
	if r.Context().Err() != nil {
		x.clientGone(err)
	}
	f := failureOf(err, x.target.Origin)
	x.rec.ErrKind = f.kind
	title := "The origin did not answer"
	if f.reason == policy.ReasonEgressDenied {
		x.rec.Decision.Verdict, x.rec.Decision.Reason, x.rec.Err = policy.Disallow, f.reason, err.Error()
		title = "Address not allowed"
	} else if !x.broken {
		x.fail(f.reason, err)
	}
	return x.answer(r, refusal{status: f.status, token: f.kind, title: title, detail: f.detail})
}

// clientGone notes that nobody is there any more to be answered.
func (x *exchange) clientGone(err error) {
	x.broken = true
	if x.rec.Err == "" {
		x.rec.Err = "the client closed the connection: " + err.Error()
	}
}

// relayInterim passes 1xx answers on (RFC 9110 15.2), but for 100, which net/http
// sends itself when the body is read. The returned function ends that: after the
// final answer an interim one would be out of order.
func (x *exchange) relayInterim(r *http.Request) (*http.Request, func()) {
	var mu sync.Mutex
	ended := false
	trace := &httptrace.ClientTrace{Got1xxResponse: func(status int, header textproto.MIMEHeader) error {
		mu.Lock()
		defer mu.Unlock()
		if ended || status == http.StatusContinue {
			return nil
		}
		h := x.w.Header()
		for name, values := range header {
			h[name] = values
		}
		x.w.ResponseWriter.WriteHeader(status)
		clear(h)
		return nil
	}}
	return r.WithContext(httptrace.WithClientTrace(r.Context(), trace)), func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
	}
}

// watchedBody remembers that a body broke off. goproxy's copy would end the
// answer as if it were whole.
type watchedBody struct {
	io.ReadCloser
	x *exchange
	r *http.Request
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.broke(err)
	}
	return n, err
}

func (b *watchedBody) broke(err error) {
	if b.r.Context().Err() != nil {
		b.x.clientGone(err)
		return
	}
	b.x.broken = true
	b.x.rec.ErrKind = "http_response_incomplete"
	b.x.fail(policy.ReasonUpstream, err)
}
