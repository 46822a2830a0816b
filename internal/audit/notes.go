package audit

import (
	"fmt"
	"strconv"
	"time"
)

// Events of the lines that the log writes of itself. They tell of no exchange.
const (
	EventTorn = "torn" // a line before this one was not written to its end: torn{bytes,sha256} is what there is of it
	EventLost = "lost" // records were lost before this line: lost is how many
	EventCut  = "cut"  // the log ended before its head did: cut{chain,seq} is where the log ended
)

// cut is where a log ended that had gone on, by its head.
type cut struct {
	found, want Link
	why         string
}

// notes appends the lines that the log has to write of itself.
func (o *output) notes() {
	for _, f := range o.owed {
		line := ownLine(EventTorn, "the line before this record was not written to its end")
		line = append(appendKey(line, "torn"), '{')
		line = strconv.AppendInt(appendKey(line, "bytes"), f.Bytes, 10)
		line = append(appendText(line, "sha256", f.SHA256), '}')
		o.line(line, false, func() { o.owed = o.owed[1:] })
	}
	if c := o.cut; c != nil {
		line := append(appendKey(ownLine(EventCut, c.why), "cut"), '{')
		line = appendText(line, "chain", c.found.Chain)
		line = strconv.AppendUint(appendKey(line, "seq"), c.found.Seq, 10)
		o.line(append(line, '}'), false, func() { o.cut = nil })
	}
	if lost := o.w.lost.Load(); lost != o.told {
		line := ownLine(EventLost, "records were lost while the log could not be written")
		line = strconv.AppendUint(appendKey(line, "lost"), lost-o.told, 10)
		o.line(line, false, func() { o.told = lost })
	}
}

func ownLine(event, why string) []byte {
	line := appendTime([]byte{'{'}, "time", time.Now())
	line = appendText(line, "event", event)
	line = append(appendKey(line, "enforced"), "false"...)
	line = append(appendKey(line, "intercepted"), "false"...)
	return appendText(line, "error", why)
}

// resume finds out where the chain of the file goes on.
func (o *output) resume() error {
	l := o.log
	if !l.regular() {
		return nil
	}
	end, err := endOf(l.path, l.size)
	if err != nil {
		// A log that heed may write need not be one that it may read. An empty line
		// harms a reader less than two records in one.
		end = ending{midLine: true}
		if o.w.opts.Chain {
			return fmt.Errorf("audit log: the chain goes on where the file ends, so it has to be read: %w", err)
		}
	}
	o.midLine = end.midLine
	if end.torn != nil {
		o.owed = append(o.owed, *end.torn)
	}
	if !o.w.opts.Chain {
		return nil
	}
	h, at, found, why, err := openHead(l.path)
	if err != nil {
		return err
	}
	o.head = h
	if why != nil && end.at.Seq > 0 {
		o.cut = &cut{found: end.at, why: "the head of this log could not be read: " + why.Error()}
	}
	switch ahead := found && (at.Chain != end.at.Chain || at.Seq > end.at.Seq); {
	case ahead:
		// What comes next has to follow the head, or nobody would see that
		// something is missing.
		o.chain = at
		if !end.empty {
			o.cut = &cut{found: end.at, want: at, why: fmt.Sprintf("the log ended at seq %d of chain %s; by its head it had seq %d of chain %s",
				end.at.Seq, orNone(end.at.Chain), at.Seq, at.Chain)}
		}
	case end.at.Seq > 0:
		o.chain = end.at
	}
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
