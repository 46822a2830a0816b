package http1

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// upload sends the content of a request, on a goroutine of its own.
type upload struct {
	x       *exchange
	body    io.ReadCloser
	length  int64 // -1: in chunks
	trailer http.Header
	waits   bool          // for a 100 (RFC 9110 10.1.1)
	go100   chan struct{} // closed when it came, or something else did
	once    sync.Once
	timeout time.Duration // for the answer's header section, once all is sent
	read    chan struct{} // closed when the body has been read to its end
	done    chan struct{} // closed when nothing more will be sent

	mu      sync.Mutex
	refused bool  // no 100 is going to come
	head    bool  // the answer's header section has come, or none is going to
	err     error // why the body could not be read
}

func newUpload(x *exchange, r *http.Request, timeout time.Duration) *upload {
	u := &upload{x: x, body: r.Body, length: r.ContentLength, timeout: timeout,
		go100: make(chan struct{}), read: make(chan struct{}), done: make(chan struct{})}
	if u.length <= 0 {
		u.length, u.trailer = -1, r.Trailer
	}
	u.waits = expects100(r) && x.conn.client.options.ContinueTimeout > 0
	return u
}

// proceed ends the wait for a 100.
func (u *upload) proceed() { u.once.Do(func() { close(u.go100) }) }

// headCame notes that the answer has begun. An upload that has not been asked for
// yet is not sent any more.
func (u *upload) headCame() {
	u.refuse()
	_ = u.x.conn.SetReadDeadline(time.Time{})
}

// refuse ends the wait for a 100 that is not going to come any more.
func (u *upload) refuse() {
	u.mu.Lock()
	u.head = true
	select {
	case <-u.go100:
	default:
		u.refused = u.waits
	}
	u.mu.Unlock()
	u.proceed()
}

// fault returns why the body could not be read; nil when it could.
func (u *upload) fault() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

// await waits until what has been read of the body is sent.
func (u *upload) await() {
	timer := time.NewTimer(shortly)
	defer timer.Stop()
	select {
	case <-u.done:
		return
	case <-u.read:
		timer.Reset(lastTime)
	case <-timer.C:
		return // it is not being sent, but waited for
	}
	select {
	case <-u.done:
	case <-timer.C:
	}
}

const (
	// shortly is a goroutine's time to go on.
	shortly = 50 * time.Millisecond
	// lastTime is an origin's to take the last of an upload that it has answered.
	lastTime = 10 * time.Second
)

func (u *upload) run() {
	defer close(u.done)
	defer u.body.Close()
	if u.waits && !u.awaitContinue() {
		u.x.spoil()
		u.x.end(&u.x.sent)
		return
	}
	if err := u.send(); err != nil {
		// An answer may be on its way all the same: its reader sees to the rest.
		u.x.spoil()
		var unread *unreadError
		if errors.As(err, &unread) {
			u.mu.Lock()
			u.err = unread.err
			u.mu.Unlock()
			u.x.conn.abort() // the origin must not take what it has for the whole
		}
	}
	u.mu.Lock()
	if !u.head && u.timeout > 0 {
		_ = u.x.conn.SetReadDeadline(time.Now().Add(u.timeout))
	}
	u.mu.Unlock()
	u.x.end(&u.x.sent)
}

// awaitContinue reports whether the content is to be sent.
func (u *upload) awaitContinue() bool {
	timer := time.NewTimer(u.x.conn.client.options.ContinueTimeout)
	defer timer.Stop()
	select {
	case <-timer.C:
		u.proceed()
	case <-u.go100:
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return !u.refused
}

// unreadError is a body that cannot be read.
type unreadError struct{ err error }

// Error implements error.
func (e *unreadError) Error() string { return "the request body: " + e.err.Error() }

// send copies the body as it comes.
func (u *upload) send() error {
	w := u.x.conn.bw
	little := littleBuffers.Get().(*[littleSize]byte)
	defer littleBuffers.Put(little)
	buf, grown := little[:], false
	left := u.length
	for {
		n, err := u.body.Read(buf)
		whole := errors.Is(err, io.EOF)
		if whole {
			close(u.read)
		}
		if n > 0 {
			if u.length >= 0 {
				if left -= int64(n); left < 0 {
					return &unreadError{fmt.Errorf("more than the %d octets announced", u.length)}
				}
			}
			if err := u.write(buf[:n]); err != nil {
				return err
			}
		}
		if n == len(buf) && !grown { // it comes fast enough to be worth it
			grown = true
			large := buffers.Get().(*[bufferSize]byte)
			defer buffers.Put(large)
			buf = large[:]
		}
		switch {
		case err == nil:
		case !whole:
			return &unreadError{err}
		case left > 0:
			return &unreadError{io.ErrUnexpectedEOF}
		default:
			if u.length < 0 {
				u.writeLast()
			}
			return w.Flush()
		}
	}
}

// write sends b without delay, as a chunk where the length is unknown.
func (u *upload) write(b []byte) error {
	w := u.x.conn.bw
	if u.length < 0 {
		_, _ = w.Write(strconv.AppendUint(w.AvailableBuffer(), uint64(len(b)), 16))
		_, _ = w.WriteString("\r\n")
	}
	_, _ = w.Write(b)
	if u.length < 0 {
		_, _ = w.WriteString("\r\n")
	}
	return w.Flush()
}

// writeLast ends the chunks, with the trailer (RFC 9112 7.1.2).
func (u *upload) writeLast() {
	w := u.x.conn.bw
	_, _ = w.WriteString("0\r\n")
	_ = u.trailer.Write(w)
	_, _ = w.WriteString("\r\n")
}

// An upload that trickles holds a little buffer, and there may be many of those.
const bufferSize, littleSize = 32 << 10, 2 << 10

var littleBuffers = sync.Pool{New: func() any { return new([littleSize]byte) }}

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}
