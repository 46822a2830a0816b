package proxy

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// responseWriter counts what the client gets and passes it on without delay. It
// stands between goproxy and net/http.
type responseWriter struct {
	http.ResponseWriter
	x        *exchange
	status   int
	written  atomic.Int64 // body octets; raw octets after a Hijack
	received atomic.Int64 // raw octets after a Hijack
	moved    atomic.Int64 // when the client last took something, in Unix ns
	empty    bool         // no content follows the header
	flushing bool         // each write is flushed: the length is unknown, so it may be a stream
	hijacked bool
	conn     net.Conn // after a Hijack, until somebody else looks after it
}

// WriteHeader sends the status. An answer of unknown length is flushed from
// here on, head first: it may be an event stream, whose reader waits. One that is
// known to be empty is not: over HTTP/2 its header has to end the stream, which is
// where gRPC looks for a status that came without content.
func (w *responseWriter) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.status = status
		if w.x.last || !w.x.req.ProtoAtLeast(1, 1) {
			w.Header()["Connection"] = []string{"close"} // RFC 9112 9.3
		}
		w.flushing = status != http.StatusSwitchingProtocols && w.Header()["Content-Length"] == nil && !w.empty
	}
	w.ResponseWriter.WriteHeader(status)
	if w.flushing && w.x.rec.Method != http.MethodHead {
		w.flush()
	}
}

func (w *responseWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.x.taking.begin()
	n, err := w.ResponseWriter.Write(b)
	w.x.taking.done()
	if w.x.upload != nil {
		w.moved.Store(time.Now().UnixNano())
	}
	if w.x.rec.Method != http.MethodHead { // of which net/http sends no body
		w.written.Add(int64(n))
	}
	if err != nil {
		w.x.clientGone(err)
		return n, err
	}
	if w.flushing {
		w.flush()
	}
	return n, nil
}

// ReadFrom copies src through a pooled buffer. goproxy's io.Copy would
// allocate one an answer.
func (w *responseWriter) ReadFrom(src io.Reader) (int64, error) {
	buf := copyBuffers.Get().(*[copyBufferSize]byte)
	defer copyBuffers.Put(buf)
	return io.CopyBuffer(writerOnly{w}, src, buf[:])
}

type writerOnly struct{ io.Writer }

const copyBufferSize = 32 << 10

var copyBuffers = sync.Pool{New: func() any { return new([copyBufferSize]byte) }}

// Flush sends what is buffered. goproxy asks for it as an http.Flusher.
func (w *responseWriter) Flush() { w.flush() }

func (w *responseWriter) flush() {
	w.x.taking.begin()
	defer w.x.taking.done()
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// lastMoved returns when the client last took a part of the answer.
func (w *responseWriter) lastMoved() time.Time { return time.Unix(0, w.moved.Load()) }

// Unwrap lets http.ResponseController reach net/http's own writer.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack hands out the connection together with the octets that the server had
// read ahead, which goproxy's CONNECT hook would drop.
func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.hijacked = true
	ahead, _ := rw.Reader.Peek(rw.Reader.Buffered())
	if wrapped, ok := conn.(*httpConn); ok && wrapped.client == nil {
		// Its watch is over, and a tunnel wants the socket itself.
		conn = &clientConn{Conn: wrapped.Conn, release: wrapped.leave}
	}
	w.conn = conn
	if client, ok := conn.(*clientConn); ok && w.x.rec.Method == http.MethodConnect {
		client.ahead = bytes.Clone(ahead)
		return client, bufio.NewReadWriter(bufio.NewReader(client), bufio.NewWriter(client)), nil
	}
	if !w.x.p.sockets.add(conn) {
		return nil, nil, net.ErrClosed
	}
	w.received.Add(int64(len(ahead)))
	w.x.open(w.status)
	return &countedConn{Conn: conn, w: w}, rw, nil
}

// closeHijacked closes what was hijacked and not handed on. goproxy leaves the
// client's side of a WebSocket open when the origin closes first.
func (w *responseWriter) closeHijacked() {
	if w.conn != nil {
		_ = w.conn.Close()
		w.x.p.sockets.remove(w.conn)
	}
}

// countedConn counts the raw octets of a WebSocket.
type countedConn struct {
	net.Conn
	w *responseWriter
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.w.received.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.w.written.Add(int64(n))
	return n, err
}
