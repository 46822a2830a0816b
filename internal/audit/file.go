package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// A logFile is where lines go: a file of the log's name, or something else that
// can be written to, such as a pipe. It belongs to one goroutine.
type logFile struct {
	path string
	out  io.Writer
	file *os.File    // nil when out is no file of ours
	info os.FileInfo // of file when it was opened
	size int64       // of file
	last time.Time   // of the last write; before the first one that of the file
}

// openLog opens the file at path for appending. One that does not exist is made
// readable to its owner alone, since URLs may hold secrets.
func openLog(path string) (*logFile, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("audit log: %w", err), f.Close())
	}
	return &logFile{path: path, out: f, file: f, info: info, size: info.Size(), last: info.ModTime()}, nil
}

// regular reports whether there is a file that can be read, renamed and synced.
func (l *logFile) regular() bool { return l.file != nil && l.info.Mode().IsRegular() }

// moved reports whether the path names another file than the one that is open,
// or none: somebody has renamed or removed it.
func (l *logFile) moved() bool {
	if l.file == nil {
		return false
	}
	info, err := os.Stat(l.path)
	return notThere(err) || err == nil && !os.SameFile(info, l.info)
}

// reopen opens the path anew. On an error the old file stays in use.
func (l *logFile) reopen() error {
	fresh, err := openLog(l.path)
	if err != nil {
		return err
	}
	err = l.close()
	*l = *fresh
	return err
}

// write writes p in one call and returns how much of it got there.
func (l *logFile) write(p []byte) (int, error) {
	n, err := l.out.Write(p)
	switch {
	case n == len(p):
		err = nil
	case err == nil:
		err = io.ErrShortWrite
	}
	l.size += int64(n)
	l.last = time.Now()
	return n, err
}

// close returns when the disk has what was written.
func (l *logFile) close() error {
	if l.file == nil {
		return nil
	}
	var err error
	if l.regular() { // pipes and devices have nothing to sync, and say so with an error
		err = l.file.Sync()
	}
	if err = errors.Join(err, l.file.Close()); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	return nil
}
