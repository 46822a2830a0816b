package audit

import (
	"context"
	"io"
	"os"
	"time"
)

// followEvery is how often a file is looked at that has nothing new.
const followEvery = 200 * time.Millisecond

// Follow hands out the lines of the plain file at path, those that there are and
// those that are written, until ctx ends. When the name leads to another file, it
// goes on in that one, after the last line of the old one. A line that is being
// written is waited for. pause is called each time that there is nothing more to
// hand out. The error is that of do, of pause or of reading, and nil when ctx
// ended.
func Follow(ctx context.Context, path string, pause func() error, do func(line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { f.Close() }()
	lines := NewLines(f)
	for {
		if err := lines.drain(do); err != nil {
			return err
		}
		next, err := successor(f, path)
		if err != nil {
			return err
		}
		if next != nil {
			// What was written between the last look and the renaming.
			err := lines.drain(do)
			f.Close()
			f, lines = next, NewLines(next)
			if err != nil {
				return err
			}
			continue
		}
		if err := pause(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}

// drain hands out the whole lines that there are. What follows them is kept for
// the next time.
func (l *Lines) drain(do func([]byte) error) error {
	for {
		line, ended, err := l.Next()
		switch {
		case err == io.EOF:
			l.err = nil
			return nil
		case err != nil:
			return err
		case !ended:
			l.start, l.err = l.end-len(line), nil
			return nil
		}
		if err := do(line); err != nil {
			return err
		}
	}
}

// successor returns the file that path leads to, open, when that is another one
// than f, or f begins anew; nil when there is nothing new, or no file yet.
func successor(f *os.File, path string) (*os.File, error) {
	mine, err := f.Stat()
	if err != nil {
		return nil, err
	}
	theirs, err := os.Stat(path)
	if notThere(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	if os.SameFile(mine, theirs) && theirs.Size() >= at {
		return nil, nil
	}
	next, err := os.Open(path)
	if notThere(err) {
		return nil, nil
	}
	return next, err
}

// A Last keeps the last lines of many.
type Last struct {
	n    int
	kept [][]byte
	next int
}

// NewLast keeps n lines; 0 keeps none.
func NewLast(n int) *Last { return &Last{n: n} }

// Add keeps a copy of line, in the place of the oldest where there are n.
func (l *Last) Add(line []byte) {
	if l.n == 0 {
		return
	}
	if len(l.kept) < l.n {
		l.kept = append(l.kept, append([]byte(nil), line...))
		return
	}
	l.kept[l.next] = append(l.kept[l.next][:0], line...)
	l.next = (l.next + 1) % l.n
}

// Lines returns what is kept, the oldest first.
func (l *Last) Lines() [][]byte {
	return append(l.kept[l.next:len(l.kept):len(l.kept)], l.kept[:l.next]...)
}
