package proxy

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// upload counts the octets of a request body and knows when it has ended: read
// to its end, failed or closed. The transport reads it on a goroutine of its
// own, which can outlive the exchange.
type upload struct {
	body io.ReadCloser
	read atomic.Int64
	once sync.Once
	done chan struct{}
}

// watchUpload puts an upload in the place of r's body. A request without a body
// keeps http.NoBody, by which the transport knows that there is none, and gets nil.
func watchUpload(r *http.Request) *upload {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	u := &upload{body: r.Body, done: make(chan struct{})}
	r.Body = u
	return u
}

func (u *upload) Read(b []byte) (int, error) {
	n, err := u.body.Read(b)
	u.read.Add(int64(n))
	if err != nil {
		u.finish()
	}
	return n, err
}

func (u *upload) Close() error {
	u.finish()
	return u.body.Close()
}

func (u *upload) finish() { u.once.Do(func() { close(u.done) }) }

func (u *upload) ended() bool {
	select {
	case <-u.done:
		return true
	default:
		return false
	}
}
