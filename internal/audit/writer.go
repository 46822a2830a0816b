package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"heed/proxy"
)

// Values of Options.Events.
const (
	EventsAll     = "all"     // every record
	EventsRefused = "refused" // those whose verdict is not allow, enforced or not
)

// maxKeptBuffer bounds what a rare long URL leaves behind in the pool.
const maxKeptBuffer = 64 << 10

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Options say where the log goes and what is in it.
type Options struct {
	Path   string    // "-" is Stdout, "" writes nothing, anything else is a file that is appended to
	Stdout io.Writer // needed for the Path "-" only; Close leaves it open
	Events string    // EventsAll or EventsRefused; "" is EventsAll
	Query  string    // QueryKeep, QueryRedact or QueryDrop; "" is QueryKeep

	// OnError is told of the first failure of each run of failed writes, so that
	// a full disk is reported once and not once a request; Failed counts them
	// all. It may be called from any goroutine that calls Record. Nil: nobody is
	// told.
	OnError func(error)
}

// A Writer is an open decision log. It may be used from any number of
// goroutines; the zero value writes nothing.
type Writer struct {
	opts Options
	file *os.File // nil unless Path names a file

	written atomic.Uint64
	failed  atomic.Uint64
	failure atomic.Pointer[error] // of the last write; outside mu, so that Healthy never waits for a write

	mu     sync.Mutex
	out    io.Writer // nil writes nothing
	torn   bool      // the log ends in the middle of a line
	closed bool
}

// Open makes a Writer. A file that does not exist is created readable to its
// owner alone (0600), since URLs may hold secrets; one that exists keeps its
// mode. If its last line is incomplete, the first record starts on a new one.
func Open(o Options) (*Writer, error) {
	switch o.Events {
	case "", EventsAll, EventsRefused:
	default:
		return nil, fmt.Errorf("audit.events %q: want all or refused", o.Events)
	}
	switch o.Query {
	case "", QueryKeep, QueryRedact, QueryDrop:
	default:
		return nil, fmt.Errorf("audit.query %q: want keep, redact or drop", o.Query)
	}
	w := &Writer{opts: o}
	switch o.Path {
	case "":
	case "-":
		if o.Stdout == nil {
			return nil, errors.New("audit.path -: there is no standard output to write to")
		}
		w.out = o.Stdout
	default:
		if err := w.openLocked(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *Writer) openLocked() error {
	f, err := os.OpenFile(w.opts.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	w.file, w.out, w.torn = f, f, endsMidLine(f)
	return nil
}

// Reopen opens the file of the log anew, so that records go on in a file of the
// old name after somebody has renamed it. No record is lost, and none waits for
// more than the opening. On an error the old file stays in use. Where the log is
// no file, it does nothing.
func (w *Writer) Reopen() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.file
	if old == nil || w.closed {
		return nil
	}
	if err := w.openLocked(); err != nil {
		return err
	}
	if err := old.Close(); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	return nil
}

// Record writes r, which must not be nil, and returns when the operating system
// has it or has refused it. A failure is counted, shown by Healthy and reported
// to OnError; it does not keep later records from being tried.
func (w *Writer) Record(r *proxy.Record) {
	if w.opts.Path == "" || w.opts.Events == EventsRefused && r.Decision.Allowed() {
		return
	}
	buf := buffers.Get().(*[]byte)
	*buf = append((*buf)[:0], '\n')
	*buf = Append(*buf, r, w.opts.Query)
	*buf = append(*buf, '\n')
	first, err := w.write(*buf)
	if cap(*buf) <= maxKeptBuffer {
		buffers.Put(buf)
	}
	if first && w.opts.OnError != nil {
		w.opts.OnError(err)
	}
}

// write sends a line that starts with a spare newline, which is only sent when
// the log ends in the middle of a line. One call to Write carries it all. first
// says that err begins a run of failures.
func (w *Writer) write(line []byte) (first bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.failLocked(os.ErrClosed)
	}
	if !w.torn {
		line = line[1:]
	}
	n, err := w.out.Write(line)
	if n > 0 {
		w.torn = line[n-1] != '\n'
	}
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return w.failLocked(err)
	}
	w.written.Add(1)
	w.failure.Store(nil)
	return false, nil
}

func (w *Writer) failLocked(cause error) (first bool, err error) {
	err = fmt.Errorf("audit log: %w", cause)
	w.failed.Add(1)
	return w.failure.Swap(&err) == nil, err
}

// Healthy returns why the last record could not be written, or nil. It never
// waits.
func (w *Writer) Healthy() error {
	if err := w.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Written returns how many records were written whole.
func (w *Writer) Written() uint64 { return w.written.Load() }

// Failed returns how many records could not be written, or only in part.
func (w *Writer) Failed() uint64 { return w.failed.Load() }

// Close waits for a record that is being written and, for a file, returns when
// the disk has it all. Records that come later are failures. Closing again does
// nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	if w.file == nil {
		return nil
	}
	var err error
	if regular(w.file) { // pipes and devices have nothing to sync, and say so with an error
		err = w.file.Sync()
	}
	if err = errors.Join(err, w.file.Close()); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	return nil
}
