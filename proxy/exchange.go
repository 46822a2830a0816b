package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"heed/internal/http1"
	"heed/policy"
)

// exchange is one request while it is being dealt with. It belongs to the
// goroutine of ServeHTTP; what other goroutines touch is atomic.
type exchange struct {
	p      *Proxy
	req    *http.Request // net/http's own; URL and header are changed under way
	rec    Record
	w      responseWriter
	link   *link
	set    *settings // as they were when it began
	rules  Decider   // as it is for this client
	target policy.Target
	upload *upload // nil when the request has no body

	sending, taking stall // of the client

	last    bool // the client's connection ends with the answer
	duplex  bool // the answer may go out while the upload still comes in
	settled bool // the upload has been dealt with
	silent  bool // nothing to record: a CONNECT whose content is recorded instead
	broken  bool // the answer is incomplete, and the client must see that
	opened  bool // the open record of a WebSocket has been written
}

type exchangeKey struct{}

// exchangeContext is a request's context that knows the exchange.
type exchangeContext struct {
	context.Context
	x *exchange
}

// Value implements context.Context.
func (c *exchangeContext) Value(key any) any {
	if key == (exchangeKey{}) || key == http1.InterimKey {
		return c.x
	}
	return c.Context.Value(key)
}

// exchangeOf returns the exchange that ServeHTTP put into the context.
func exchangeOf(r *http.Request) *exchange {
	x, _ := r.Context().Value(exchangeKey{}).(*exchange)
	return x
}

// begin starts the exchange of r and returns r with it in its context.
func (p *Proxy) begin(w http.ResponseWriter, r *http.Request) (*exchange, *http.Request) {
	p.active.Add(1)
	x := &exchange{p: p, req: r, link: linkOf(r.Context()), set: p.settings.Load()}
	x.rec = Record{
		Time:        time.Now(),
		ID:          p.ids.next(),
		Event:       EventExchange,
		Client:      clientAddr(x.link, r),
		Method:      r.Method,
		Intercepted: x.link.intercepted(),
	}
	x.identify(x.link.user())
	x.w = responseWriter{ResponseWriter: w, x: x}
	if x.link.http != nil {
		x.last = x.link.http.begin(r)
	}
	// A copy, because net/http looks at the body in its own request to know what
	// is left of it.
	r = r.WithContext(&exchangeContext{r.Context(), x})
	x.watchStalls(r)
	x.upload = watchUpload(r)
	return x, r
}

// identify notes who the client is, and takes the rules that are meant for it.
func (x *exchange) identify(user string) {
	x.rules = x.set.decider.For(user, x.rec.Client.Addr())
	x.rec.User, x.rec.ClientEntry, x.rec.Enforced = user, x.rules.Entry(), !x.rules.Monitor
}

// end closes the exchange, whatever happened: it writes the record and breaks
// the connection where the client must not take the answer for complete. It is
// deferred by ServeHTTP.
func (x *exchange) end() {
	if fault := recover(); fault != nil {
		x.panicked(fault)
	}
	x.w.closeHijacked()
	if x.broken && !x.w.hijacked && x.w.status != 0 {
		x.w.flush() // what came so far is the client's
	}
	if x.upload != nil {
		x.settle()
		x.rec.RequestBytes = x.upload.read.Load()
	}
	x.stopStalls()
	x.rec.Status, x.rec.ResponseBytes = x.w.status, x.w.written.Load()
	if x.opened {
		x.rec.Event = EventClose
		x.rec.RequestBytes += x.w.received.Load()
		if x.rec.Err == "" && errors.Is(context.Cause(x.req.Context()), errShutdown) {
			x.rec.Err = errShutdown.Error() // what was cut does not look as if it had ended
		}
	}
	x.rec.Duration = time.Since(x.rec.Time)
	if !x.silent {
		x.p.record(&x.rec)
	}
	x.p.active.Add(-1)
	if x.broken {
		panic(http.ErrAbortHandler)
	}
}

// open writes the first of the two records of an exchange that became a tunnel
// or a WebSocket. status is what the client was answered.
func (x *exchange) open(status int) {
	x.opened = true
	first := x.rec
	first.Event, first.Status, first.Duration = EventOpen, status, time.Since(x.rec.Time)
	x.p.record(&first)
}

// panicked turns a panic into a 500, or into a broken answer when one is under
// way. http.ErrAbortHandler is net/http's word for the latter.
func (x *exchange) panicked(fault any) {
	x.broken = x.w.status != 0
	if err, ok := fault.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		x.broken = true
		return
	}
	x.silent = false
	x.p.log.Error("panic while serving", "id", x.rec.ID, "panic", fault, "stack", string(debug.Stack()))
	x.fail(policy.ReasonInternal, fmt.Errorf("panic: %v", fault))
	if !x.broken {
		x.refuse(refusal{status: http.StatusInternalServerError, token: "proxy_internal_error",
			title: "Internal error", detail: "heed made a mistake; its log says more under the id " + x.rec.ID})
	}
}

// gone reports whether there is nobody left to be answered. A stream of HTTP/2
// whose upload broke off is over, although its context may end a little later.
func (x *exchange) gone() bool {
	return x.req.Context().Err() != nil || x.req.ProtoMajor == 2 && x.upload.fault() != nil
}

// clientGone notes that the client cannot have the rest of its answer.
func (x *exchange) clientGone(err error) {
	x.broken = true
	switch {
	case x.rec.Err != "":
	case errors.Is(context.Cause(x.req.Context()), errShutdown):
		x.rec.Err = errShutdown.Error()
	case x.sending.hasFired():
		x.rec.Err = fmt.Sprintf("the client sent nothing of its request for %v", x.p.idleTimeout)
	case x.taking.hasFired(), errors.Is(err, os.ErrDeadlineExceeded):
		x.rec.Err = fmt.Sprintf("the client took nothing of its answer for %v", x.p.idleTimeout)
	default:
		x.rec.Err = "the client closed the connection: " + err.Error()
	}
}

// abandon ends an exchange that nobody waits for. It does not return.
func (x *exchange) abandon(err error) {
	x.clientGone(err)
	panic(http.ErrAbortHandler)
}

// fail makes the record one of an error. What robots.txt said is kept.
func (x *exchange) fail(reason policy.Reason, err error) {
	x.rec.Decision.Verdict, x.rec.Decision.Reason = policy.Error, reason
	if err != nil {
		x.rec.Err = err.Error()
	}
}

// deliver writes res where goproxy is not there to do it.
func (x *exchange) deliver(res *http.Response) {
	defer res.Body.Close()
	for name, values := range res.Header {
		x.w.Header()[name] = values
	}
	x.w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(&x.w, res.Body)
}

// ids makes record identifiers: a prefix drawn at each start and a counter.
type ids struct {
	prefix string
	n      atomic.Uint64
}

func (i *ids) next() string {
	var buf [32]byte
	b := append(append(buf[:0], i.prefix...), '-')
	return string(strconv.AppendUint(b, i.n.Add(1), 36))
}

// clientAddr returns the peer's address; the zero value when it has none.
func clientAddr(l *link, r *http.Request) netip.AddrPort {
	if l.addr.IsValid() {
		return l.addr
	}
	return parseAddr(r.RemoteAddr)
}
