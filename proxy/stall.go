package proxy

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// stall ends one direction of an exchange that does not move: a client that
// sends nothing of its body, or takes nothing of the answer, for the idle time. How
// long a body takes in all has no bound. The zero value bounds nothing.
type stall struct {
	after time.Duration
	end   func()           // makes the call that waits return
	moved func() time.Time // when the other direction did last; nil does not count

	mu      sync.Mutex
	timer   *time.Timer
	waiting bool
	fired   bool
	over    bool // the exchange has ended, and its connection is somebody else's
}

// begin is called before what may wait, and done after it.
func (s *stall) begin() {
	if s.after <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return
	case s.timer == nil:
		s.timer = time.AfterFunc(s.after, s.fire)
	default:
		s.timer.Reset(s.after)
	}
	s.waiting = true
}

func (s *stall) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting {
		s.waiting = false
		s.timer.Stop()
	}
}

// stop is called before the exchange ends; nothing is ended after it.
func (s *stall) stop() {
	s.done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

func (s *stall) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.waiting || s.over {
		return
	}
	if s.moved != nil {
		if left := s.after - time.Since(s.moved()); left > 0 {
			s.timer.Reset(left)
			return
		}
	}
	s.fired = true
	s.end()
}

// hasFired reports whether the direction was ended.
func (s *stall) hasFired() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fired
}

// movingBody is a request body that must go on coming.
type movingBody struct {
	io.ReadCloser
	stall *stall
}

func (b movingBody) Read(p []byte) (int, error) {
	b.stall.begin()
	defer b.stall.done()
	return b.ReadCloser.Read(p)
}

// past is a deadline that has gone by.
var past = time.Unix(1, 0)

// watchStalls bounds the waiting of an exchange whose request is r. Answers over
// HTTP/1 are bounded by their connection.
func (x *exchange) watchStalls(r *http.Request) {
	if r.ContentLength == 0 && r.ProtoMajor != 2 {
		return
	}
	control := http.NewResponseController(x.w.ResponseWriter)
	if r.ContentLength != 0 {
		x.sending = stall{after: x.p.idleTimeout, end: func() { _ = control.SetReadDeadline(past) }, moved: x.w.lastMoved}
		r.Body = movingBody{r.Body, &x.sending}
	}
	if r.ProtoMajor == 2 {
		x.taking = stall{after: x.p.idleTimeout, end: func() { _ = control.SetWriteDeadline(past) }}
	}
}

// stopStalls ends that. What of an answer over HTTP/2 still waits for its reader is
// sent when the handler has returned, and gets the idle time once more.
func (x *exchange) stopStalls() {
	x.sending.stop()
	x.taking.stop()
	if x.taking.after > 0 && x.w.written.Load() > 0 && x.req.Context().Err() == nil {
		_ = http.NewResponseController(x.w.ResponseWriter).SetWriteDeadline(time.Now().Add(x.p.idleTimeout))
	}
}
