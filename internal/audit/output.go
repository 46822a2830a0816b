package audit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxWrite is how much is handed to the operating system at once, if one
	// record is not longer.
	maxWrite = 256 << 10

	// retryAfter is how soon a log that could not be written is tried again,
	// though no record comes.
	retryAfter = time.Second
)

// output is the writing half of a Writer: its one goroutine.
type output struct {
	w     *Writer
	log   *logFile
	head  *head // nil where no chain outlives the process
	seal  *sealer
	chain Link

	work batch // what was taken, of which next and later are not written yet
	next int

	midLine bool       // the log ends in the middle of a line
	owed    []fragment // what has to be told of: lines that were not written to their end
	cut     *cut       // and how the log ended before its head
	told    uint64     // of the lost records, those that the log tells of

	buf   []byte // what the next write writes
	marks []mark // the ends of the lines in buf

	tidyUp chan struct{} // holds one: files were put aside
	tidied sync.WaitGroup
	stop   context.CancelFunc // of tidying up
}

// mark is the end of a line in buf, its newline included.
type mark struct {
	end    int
	at     Link
	record bool // of work, and not the log's own
	settle func()
}

// newOutput opens what w writes to and finds out where its chain goes on.
func newOutput(w *Writer) (*output, error) {
	o := &output{w: w, seal: newSealer(w.opts.Key), chain: newLink(), tidyUp: make(chan struct{}, 1)}
	if w.opts.Path == "-" {
		o.log = &logFile{out: w.opts.Stdout}
	} else {
		log, err := openLog(w.opts.Path)
		if err != nil {
			return nil, err
		}
		o.log = log
		if err := o.resume(); err != nil {
			return nil, errors.Join(err, log.close())
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	o.stop = stop
	if o.log.regular() && (w.opts.Rotate.Compress || w.opts.Rotate.Keep > 0) {
		o.tidied.Go(func() { o.tidy(ctx) })
		o.tidyUp <- struct{}{} // what an earlier run left
	}
	return o, nil
}

// run writes until the Writer is closed.
func (o *output) run() {
	defer close(o.w.done)
	retry := time.NewTimer(0) // the first round tells of what was found
	defer retry.Stop()
	for {
		var reply chan error
		select {
		case <-o.w.wake:
		case <-retry.C:
		case reply = <-o.w.reopen:
		}
		closed := o.round()
		for o.w.closing() && !closed {
			closed = o.round()
		}
		if reply != nil {
			var err error
			if o.log.regular() { // a pipe might have no reader, and be waited for
				err = o.reopen()
			}
			reply <- err
		}
		if closed {
			o.w.ending = o.finish()
			return
		}
		if o.w.failure.Load() != nil {
			retry.Reset(retryAfter)
		}
	}
}

// round writes what there is to write, as far as that is possible. What comes
// meanwhile is for the next round, so that a busy log also gets to do other things.
func (o *output) round() (closed bool) {
	if o.next == len(o.work.ends) {
		empty := batch{o.work.text[:0], o.work.ends[:0]}
		if cap(empty.text) > 2*maxPending { // one record was very long
			empty = batch{}
		}
		o.work = o.w.take(empty)
		o.next = 0
	}
	whole := len(o.work.ends) == 0 && o.silent() || o.deliver()
	o.w.mu.Lock()
	defer o.w.mu.Unlock()
	// Where it is closed, nothing comes any more but what is pending.
	return o.w.closed && (!whole || len(o.w.pending.ends) == 0 && o.next == len(o.work.ends))
}

// finish ends the log. What could not be written is lost.
func (o *output) finish() error {
	o.stop()
	o.tidied.Wait()
	left := o.w.take(batch{})
	if n := len(o.work.ends) - o.next + len(left.ends); n > 0 {
		o.w.lose(n, errFull)
	}
	err := o.log.close()
	if o.head != nil {
		err = errors.Join(err, o.head.close())
	}
	if failed := o.w.Writable(); failed != nil {
		err = errors.Join(failed, err)
	}
	return err
}

func (o *output) reopen() error {
	err := o.log.reopen()
	if err == nil {
		o.midLine = false
	}
	o.note(&o.w.trouble, err)
	return err
}

// note remembers whether something beside the writing of records went wrong.
func (o *output) note(at *atomic.Pointer[error], err error) {
	if err == nil {
		at.Store(nil)
		return
	}
	if at.Swap(&err) == nil && o.w.opts.OnError != nil {
		o.w.opts.OnError(err)
	}
}

// tidy looks after the files that were put aside.
func (o *output) tidy(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.tidyUp:
		}
		if err := o.w.opts.Rotate.tidy(ctx, o.w.opts.Path); err != nil && o.w.opts.OnError != nil {
			o.w.opts.OnError(err)
		}
	}
}
