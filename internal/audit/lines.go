package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxLine bounds a line: a header section of limits.header_bytes fits many times.
const maxLine = 256 << 20

// ErrLongLine is what a line of more than 256 MiB ends reading with.
var ErrLongLine = errors.New("a line is longer than 256 MiB: this is no audit log")

// Lines reads lines without keeping more than one. It belongs to one goroutine.
type Lines struct {
	r          io.Reader
	buf        []byte
	start, end int
	err        error
}

// NewLines reads lines from r.
func NewLines(r io.Reader) *Lines { return &Lines{r: r, buf: make([]byte, 1<<20)} }

// Next returns the next line without its newline; ended is whether it had one.
// It is valid until the next call. The error is io.EOF at the end.
func (l *Lines) Next() (line []byte, ended bool, err error) {
	seen := 0 // octets of the line without a newline
	for {
		if i := bytes.IndexByte(l.buf[l.start+seen:l.end], '\n'); i >= 0 {
			line = l.buf[l.start : l.start+seen+i]
			l.start += seen + i + 1
			return line, true, nil
		}
		seen = l.end - l.start
		if l.err != nil {
			if line = l.buf[l.start:l.end]; seen > 0 && l.err == io.EOF {
				l.start = l.end
				return line, false, nil
			}
			return nil, false, l.err
		}
		l.fill()
	}
}

// fill reads more, behind what there is of a line.
func (l *Lines) fill() {
	if l.start > 0 {
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.start = 0
	}
	if l.end == len(l.buf) {
		if len(l.buf) >= maxLine {
			l.err = ErrLongLine
			return
		}
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	n, err := l.r.Read(l.buf[l.end:])
	l.end += n
	l.err = err
}

// An Input is a log that is open for reading: plain, gzip or zstd, whatever its
// name says.
type Input struct {
	Name string
	Size int64 // octets as stored; -1 when not known
	*Lines

	raw     *countingReader
	closers []func()
}

// OpenInput opens a file; "-" is stdin.
func OpenInput(name string, stdin io.Reader) (*Input, error) {
	in := &Input{Name: name, Size: -1}
	r := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		in.closers = append(in.closers, func() { f.Close() })
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			in.Size = info.Size()
		}
		r = f
	}
	in.raw = &countingReader{r: r}
	plain, err := in.decompress(bufio.NewReaderSize(in.raw, 256<<10))
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	in.Lines = NewLines(plain)
	return in, nil
}

// decompress looks at the first octets (RFC 1952 2.3.1, RFC 8878 3.1.1).
func (in *Input) decompress(r *bufio.Reader) (io.Reader, error) {
	start, err := r.Peek(4)
	switch {
	case err != nil && err != io.EOF:
		return nil, err
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		return gzip.NewReader(r)
	case bytes.Equal(start, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(r)
		if err != nil {
			return nil, err
		}
		in.closers = append(in.closers, z.Close)
		return z, nil
	}
	return r, nil
}

// Done returns how many octets of Size have been read.
func (in *Input) Done() int64 { return in.raw.n }

// Close releases what was opened. What was returned by Next is no longer valid.
func (in *Input) Close() {
	for _, c := range in.closers {
		c()
	}
}

// countingReader counts what is read through it.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
