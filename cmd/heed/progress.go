package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// progress shows on a terminal how far a long reading has come. The zero value
// shows nothing.
type progress struct {
	w       io.Writer // nil shows nothing
	columns int
	start   time.Time
	last    time.Time
	shown   bool
}

// A reading that is over before that has nothing to show.
const (
	progressAfter = 500 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// newProgress shows on stderr, if that is a terminal. stdout must not be one that
// is written to meanwhile.
func newProgress(stderr io.Writer) progress {
	columns, ok := onTerminal(stderr)
	if !ok {
		return progress{}
	}
	return progress{w: stderr, columns: columns, start: time.Now()}
}

// at shows that done of size octets of a file have been read. size is negative
// when it is not known.
func (p *progress) at(name string, done, size int64) {
	if p.w == nil {
		return
	}
	now := time.Now()
	if now.Sub(p.start) < progressAfter || now.Sub(p.last) < progressEvery {
		return
	}
	p.last, p.shown = now, true
	fmt.Fprintf(p.w, "\r\x1b[K%s", progressLine(name, done, size, p.columns))
}

// clear removes what is shown, so that something else can be written.
func (p *progress) clear() {
	if p.shown {
		p.shown = false
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// progressLine is one line of at most columns-1 columns.
func progressLine(name string, done, size int64, columns int) string {
	amount := fmt.Sprintf(" %s", megabytes(done))
	if size > 0 {
		done = min(done, size)
		const width = 24
		full := int(width * done / size)
		amount = fmt.Sprintf(" [%s%s] %3d%% of %s", strings.Repeat("=", full), strings.Repeat(" ", width-full), 100*done/size, megabytes(size))
	}
	return shorten(printable(name), max(1, columns-1-len(amount))) + amount
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
