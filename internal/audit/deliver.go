package audit

import "time"

// silent reports whether there is nothing that the log has to say by itself.
func (o *output) silent() bool {
	return !o.midLine && len(o.owed) == 0 && o.cut == nil && o.told == o.w.lost.Load()
}

// deliver writes o.work from o.next on, after what the log has to say by itself.
// It reports whether all of it was written.
func (o *output) deliver() bool {
	if o.log.moved() {
		// Where that fails the records are at least in the old file.
		if err := o.reopen(); err != nil {
			o.w.failed.Add(1)
		}
	}
	o.begin()
	o.notes()
	now := time.Now()
	for i := o.next; i < len(o.work.ends); i++ {
		line := o.record(i)
		if len(o.buf) > 0 && len(o.buf)+len(line) > maxWrite && !o.flush() {
			return false
		}
		if !o.midLine && o.w.opts.Rotate.due(o.log, len(o.buf), len(line)+chainRoom, now) {
			if !o.flush() {
				return false
			}
			o.rotate(now)
		}
		o.line(line, true, nil)
	}
	return o.flush()
}

// chainRoom is about what sealing adds to a line.
const chainRoom = 256

// record returns the record i of the work.
func (o *output) record(i int) []byte {
	start := 0
	if i > 0 {
		start = o.work.ends[i-1]
	}
	return o.work.text[start:o.work.ends[i]]
}

// begin starts a write. A line that was not written to its end is ended.
func (o *output) begin() {
	o.buf, o.marks = o.buf[:0], o.marks[:0]
	if o.midLine {
		o.buf = append(o.buf, '\n')
	}
}

// line appends a line, which has no closing brace, to what will be written.
// settle is called when it has been; it may be nil.
func (o *output) line(text []byte, record bool, settle func()) {
	start, at := len(o.buf), o.chain
	if n := len(o.marks); n > 0 {
		at = o.marks[n-1].at
	}
	o.buf = append(o.buf, text...)
	if o.w.opts.Chain {
		o.buf, at = o.seal.seal(o.buf, start, at)
	} else {
		o.buf = append(o.buf, '}')
	}
	o.buf = append(o.buf, '\n')
	o.marks = append(o.marks, mark{len(o.buf), at, record, settle})
}

// flush writes o.buf and reports whether all of it was written. What was not is
// still to be done; the log's own lines are made anew.
func (o *output) flush() bool {
	if len(o.buf) == 0 {
		return true
	}
	n, err := o.log.write(o.buf)
	o.settle(n)
	if err != nil {
		o.w.failed.Add(1)
		o.w.fail(err)
		return false
	}
	o.w.failure.Store(nil)
	o.begin()
	return true
}

// settle takes into account that the first n octets of o.buf are in the log.
func (o *output) settle(n int) {
	if n == 0 {
		return
	}
	done, records := 0, uint64(0)
	begun := 0 // of the line that is not done
	if o.midLine {
		begun = 1
	}
	for _, m := range o.marks {
		if n < m.end-1 {
			break
		}
		done, begun, o.chain = done+1, m.end, m.at
		if m.record {
			records++
			o.next++
		}
		if m.settle != nil {
			m.settle()
		}
	}
	o.midLine = n != begun
	if n > begun {
		o.owed = append(o.owed, fragmentOf(o.buf[begun:n]))
	}
	o.w.written.Add(records)
	if done > 0 && o.head != nil {
		o.note(&o.w.astray, o.head.set(o.chain))
	}
}

// rotate begins a new file. Where that fails the old one goes on.
func (o *output) rotate(now time.Time) {
	err := o.log.rotate(now)
	o.note(&o.w.trouble, err)
	if err != nil {
		o.log.last = now // not again before the next period
		return
	}
	select {
	case o.tidyUp <- struct{}{}:
	default:
	}
}
