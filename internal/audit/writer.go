package audit

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"heed/proxy"
)

// maxPending bounds the octets of records that wait to be written. While the log
// cannot keep up, Record waits beyond it; while the log cannot be written at all,
// records beyond it are lost.
const maxPending = 4 << 20

// A Writer is an open decision log. It may be used from any number of
// goroutines; the zero value writes nothing. Close it to end what it started.
type Writer struct {
	opts   Options
	encode *encoder

	written atomic.Uint64
	failed  atomic.Uint64
	lost    atomic.Uint64
	failure atomic.Pointer[error] // of the last write; outside mu, so that Healthy never waits for a write
	trouble atomic.Pointer[error] // of the last rotation, or opening anew
	astray  atomic.Pointer[error] // of the last write of the head

	mu      sync.Mutex
	room    sync.Cond // there may be room in pending, or it does not matter any more
	pending batch     // records that the writing goroutine has not taken yet
	closed  bool

	wake   chan struct{}   // holds one: pending is not empty, or closed
	reopen chan chan error // asks the writing goroutine
	done   chan struct{}   // closed when the writing goroutine has ended
	ending error           // why the end was not clean; set before done is closed
}

// batch is encoded records, each without its closing brace.
type batch struct {
	text []byte
	ends []int
}

func (b *batch) add(line []byte) {
	b.text = append(b.text, line...)
	b.ends = append(b.ends, len(b.text))
}

// Open makes a Writer. A file that does not exist is created readable to its
// owner alone (0600), one that exists keeps its mode. A chain goes on where the
// file, or its head, ends; in anything but a file a new one begins. If the last
// line of the file is incomplete, the first record says so.
func Open(o Options) (*Writer, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	w := &Writer{opts: o, wake: make(chan struct{}, 1), reopen: make(chan chan error), done: make(chan struct{})}
	w.room.L = &w.mu
	if o.Path == "" {
		close(w.done)
		return w, nil
	}
	w.encode = newEncoder(o)
	out, err := newOutput(w)
	if err != nil {
		return nil, err
	}
	go out.run()
	return w, nil
}

// Record takes r, which must not be nil, and returns at once: one goroutine
// writes what has come since it last wrote. Where 4 MiB wait already, Record
// waits for it; where they wait because the log cannot be written, the record is
// lost. That is counted, shown by Healthy and reported to OnError, and the log
// says so as soon as it can.
func (w *Writer) Record(r *proxy.Record) {
	if w.opts.Path == "" || w.opts.Events == EventsRefused && r.Decision.Allowed() {
		return
	}
	buf := w.encode.record(r)
	if err := w.put(buf.line); err != nil {
		w.lose(1, err)
	}
	buf.release()
}

var errFull = errors.New("the log cannot be written, and too many records wait for that")

func (w *Writer) put(line []byte) error {
	w.mu.Lock()
	for w.full(len(line)) && !w.closed && w.failure.Load() == nil {
		w.room.Wait()
	}
	switch {
	case w.closed:
		w.mu.Unlock()
		return os.ErrClosed
	case w.full(len(line)):
		w.mu.Unlock()
		return errFull
	}
	w.pending.add(line)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return nil
}

// full reports whether n octets more have to wait. One record always has room.
func (w *Writer) full(n int) bool {
	return len(w.pending.text) > 0 && len(w.pending.text)+n > maxPending
}

// take exchanges what is pending for an empty batch.
func (w *Writer) take(empty batch) (b batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, w.pending = w.pending, empty
	w.room.Broadcast()
	return b
}

// closing reports whether no more records are taken.
func (w *Writer) closing() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// lose counts n records that will never be written.
func (w *Writer) lose(n int, cause error) {
	w.lost.Add(uint64(n))
	w.failed.Add(uint64(n))
	if w.failure.Load() == nil {
		w.fail(cause)
	}
}

// fail notes that the log could not be written. Whoever waits for room need not
// any more.
func (w *Writer) fail(cause error) {
	err := fmt.Errorf("audit log: %w", cause)
	first := w.failure.Swap(&err) == nil
	w.mu.Lock()
	w.room.Broadcast()
	w.mu.Unlock()
	if first && w.opts.OnError != nil {
		w.opts.OnError(err)
	}
}

// Writable returns why the last write failed, or nil. It never waits. After a
// failure the Writer tries again by itself every second.
func (w *Writer) Writable() error {
	if err := w.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Healthy is Writable, and returns also why the log could not be rotated, or its
// head not be written.
func (w *Writer) Healthy() error {
	if err := w.Writable(); err != nil {
		return err
	}
	for _, other := range []*atomic.Pointer[error]{&w.trouble, &w.astray} {
		if err := other.Load(); err != nil {
			return *err
		}
	}
	return nil
}

// Written returns how many records were written whole.
func (w *Writer) Written() uint64 { return w.written.Load() }

// Failed returns how many writes failed, and how many records were lost to that.
func (w *Writer) Failed() uint64 { return w.failed.Load() }

// Lost returns how many records will never be written.
func (w *Writer) Lost() uint64 { return w.lost.Load() }

// Reopen opens the file of the log anew, so that records go on in a file of the
// old name after somebody has renamed it. (A Writer also sees for itself that its
// file was renamed or removed, before it next writes.) What was recorded before is
// in the old file, and no record is lost. On an error the old file stays in use.
// Where the log is no file, it only waits for what was recorded before.
func (w *Writer) Reopen() error {
	if w.opts.Path == "" {
		return nil
	}
	reply := make(chan error, 1)
	select {
	case w.reopen <- reply:
		return <-reply
	case <-w.done:
		return nil
	}
}

// Close writes what waits and, for a file, returns when the disk has it all. The
// error is why it has not. Records that come later are lost. Closing again does
// nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	again := w.closed
	w.closed = true
	w.room.Broadcast()
	w.mu.Unlock()
	if w.opts.Path == "" || again {
		return nil
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
	<-w.done
	return w.ending
}
