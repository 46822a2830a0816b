package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// asideFormat is the time in the name of a file that was put aside, in UTC. The
// names sort in the order of the files, and before that of the log.
const asideFormat = "20060102T150405.000000000Z"

const (
	gzipSuffix = ".gz"
	tempSuffix = ".tmp"
)

// due reports whether a line of n octets belongs into a new file, after others that
// are still to be written.
func (r Rotation) due(l *logFile, before, n int, now time.Time) bool {
	size := l.size + int64(before)
	if !l.regular() || size == 0 {
		return false
	}
	return r.Size > 0 && size+int64(n) > r.Size || r.Every > 0 && !now.Truncate(r.Every).Equal(l.last.Truncate(r.Every))
}

// rotate puts the file aside and opens a new one. On an error the log goes on in
// a file, the old one if need be.
func (l *logFile) rotate(now time.Time) error {
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("rotate audit log: %w", err)
	}
	aside, err := l.aside(now)
	if err != nil {
		return fmt.Errorf("rotate audit log: %w", err)
	}
	if err := os.Rename(l.path, aside); err != nil {
		return fmt.Errorf("rotate audit log: %w", err)
	}
	mode := l.info.Mode()
	if err := l.reopen(); err != nil {
		return err
	}
	if l.info.Mode() != mode { // whoever was given leave to read the log keeps it
		return l.file.Chmod(mode.Perm())
	}
	return nil
}

// aside returns a name that no file has.
func (l *logFile) aside(now time.Time) (string, error) {
	ext := filepath.Ext(l.path)
	for {
		name := strings.TrimSuffix(l.path, ext) + "-" + now.UTC().Format(asideFormat) + ext
		_, err := os.Lstat(name)
		_, zipped := os.Lstat(name + gzipSuffix)
		if notThere(err) && notThere(zipped) {
			return name, nil
		}
		if err != nil && !notThere(err) {
			return "", err
		}
		now = now.Add(time.Nanosecond)
	}
}

// PutAside lists the files of the log at path that a Writer put aside, the oldest
// first.
func PutAside(path string) ([]string, error) {
	ext := filepath.Ext(path)
	prefix := strings.TrimSuffix(filepath.Base(path), ext) + "-"
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		stamp, ok := strings.CutPrefix(e.Name(), prefix)
		stamp, plain := strings.CutSuffix(strings.TrimSuffix(stamp, gzipSuffix), ext)
		if _, err := time.Parse(asideFormat, stamp); ok && plain && err == nil && e.Type().IsRegular() {
			names = append(names, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	slices.Sort(names)
	return names, nil
}

// tidy compresses what was put aside and removes what is not kept. What ctx cuts
// short is done the next time.
func (r Rotation) tidy(ctx context.Context, path string) error {
	names, err := PutAside(path)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	var errs []error
	if n := len(names) - r.Keep; r.Keep > 0 && n > 0 {
		for _, name := range names[:n] {
			errs = append(errs, os.Remove(name))
		}
		names = names[n:]
	}
	for _, name := range names {
		if r.Compress && !strings.HasSuffix(name, gzipSuffix) && ctx.Err() == nil {
			errs = append(errs, compress(ctx, name))
		}
	}
	if err := errors.Join(errs...); err != nil && ctx.Err() == nil {
		return fmt.Errorf("audit log put aside: %w", err)
	}
	return nil
}

// compress replaces a file by its gzip form, which is whole when it has its name.
func compress(ctx context.Context, name string) (err error) {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	temp := name + gzipSuffix + tempSuffix
	out, err := os.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(temp)
		}
	}()
	z := gzip.NewWriter(out)
	_, err = io.Copy(z, ended{ctx, in})
	if err = errors.Join(err, z.Close(), keepMode(in, out), out.Sync(), out.Close()); err != nil {
		return err
	}
	if err = os.Rename(temp, name+gzipSuffix); err != nil {
		return err
	}
	return os.Remove(name)
}

func keepMode(in, out *os.File) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	return out.Chmod(info.Mode() & fs.ModePerm)
}

// ended reads until ctx ends.
type ended struct {
	ctx context.Context
	in  io.Reader
}

func (e ended) Read(p []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	return e.in.Read(p)
}
