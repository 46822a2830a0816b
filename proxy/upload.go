package proxy

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// upload is a request body. It counts the octets and knows how it ended. The
// transport reads it on a goroutine of its own, which can outlive the exchange.
type upload struct {
	body    io.ReadCloser // net/http's, which closes it
	trailer http.Header   // filled when the body ends
	read    atomic.Int64
	closed  atomic.Bool
	once    sync.Once
	done    chan struct{} // closed when nothing more will be read
	err     error         // why, once done is closed; io.EOF when all of it was read
}

// watchUpload puts an upload in the place of r's body. A request without one gets
// nil and http.NoBody, by which the transport knows that there is none: over
// HTTP/2 it comes with a body that is empty.
func watchUpload(r *http.Request) *upload {
	if r.ContentLength == 0 {
		r.Body = http.NoBody
		return nil
	}
	u := &upload{body: r.Body, trailer: r.Trailer, done: make(chan struct{})}
	r.Body = u
	return u
}

func (u *upload) Read(b []byte) (int, error) {
	if u.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := u.body.Read(b)
	u.read.Add(int64(n))
	if err != nil {
		scrubTrailer(u.trailer)
		u.finish(err)
	}
	return n, err
}

// Close ends the reading. It leaves the body open: what has not been read of it
// is net/http's business, and closing would wait for the client to send it.
func (u *upload) Close() error {
	u.closed.Store(true)
	u.finish(http.ErrBodyReadAfterClose)
	return nil
}

func (u *upload) finish(err error) {
	u.once.Do(func() {
		u.err = err
		close(u.done)
	})
}

// ended reports whether nothing more will be read, and why: io.EOF when all was.
func (u *upload) ended() (error, bool) {
	select {
	case <-u.done:
		return u.err, true
	default:
		return nil, false
	}
}

// whole reports whether all of it was read.
func (u *upload) whole() bool {
	err, _ := u.ended()
	return errors.Is(err, io.EOF)
}

// fault returns the error of a body that could not be read to its end. A nil
// upload has none.
func (u *upload) fault() error {
	if u == nil {
		return nil
	}
	err, _ := u.ended()
	if errors.Is(err, io.EOF) || errors.Is(err, http.ErrBodyReadAfterClose) {
		return nil
	}
	return err
}

// settle ends an upload whose answer came first. The origin gets the rest of it,
// as long as the client goes on sending. Nothing may read the body once the
// handler has returned.
func (x *exchange) settle() {
	if x.settled {
		return
	}
	x.settled = true
	if _, ended := x.upload.ended(); x.duplex && !ended && !x.broken && x.w.status != 0 {
		x.w.flush()
		x.awaitUpload()
	}
	_ = x.upload.Close()
	if x.upload.whole() || !x.duplex && !x.broken {
		return // net/http reads the rest, or closes the connection
	}
	x.limitDrain(lingerTime)
	if err := x.upload.body.Close(); err != nil && x.link.http != nil {
		x.link.http.last = true
	}
}

// awaitUpload waits for the end of the upload until the client pauses for too long.
func (x *exchange) awaitUpload() {
	pause := x.uploadPause()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for seen := int64(-1); ; {
		select {
		case <-x.upload.done:
			return
		case <-x.req.Context().Done():
			return
		case <-timer.C:
		}
		now := x.upload.read.Load()
		if now == seen {
			return
		}
		seen = now
		timer.Reset(pause)
	}
}

// uploadPause is how long a client may pause in an upload that has been answered.
// One that has the whole answer is given as long as it has for a header section.
// One that has not, because only the end of the exchange ends the answer, may have
// stopped sending at an answer that makes the content useless, as many do, and be
// waiting for that end.
func (x *exchange) uploadPause() time.Duration {
	endless := x.w.flushing || x.req.ProtoMajor == 2
	if x.w.status >= 300 && endless || x.p.headerTimeout == 0 {
		return refusedPause
	}
	return x.p.headerTimeout
}

const refusedPause = time.Second

// limitDrain bounds the time that is spent on reading the rest of an upload, so
// that the connection can be kept; zero does not. The size net/http bounds itself.
func (x *exchange) limitDrain(limit time.Duration) {
	deadline := time.Now()
	if !x.broken && (x.req.Header["Expect"] == nil || x.upload.read.Load() > 0) {
		if limit == 0 {
			return
		}
		deadline = deadline.Add(limit)
	} // otherwise nobody cares, or nothing will come
	if x.link.http != nil { // a stream of HTTP/2 is reset instead
		_ = http.NewResponseController(x.w.ResponseWriter).SetReadDeadline(deadline)
	}
}
