package ca

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	lockFile = ".lock"

	// lockPatience is how long another process may hold the lock: making a CA takes milliseconds.
	lockPatience = 10 * time.Second
	lockRetry    = 10 * time.Millisecond
)

// lock makes dir, for its owner alone, and takes its lock. The lock file stays: a lock on a file that another process
// has unlinked excludes nobody.
func lock(dir string) (unlock func(), err error) {
	if dir == "" {
		return nil, errors.New("the CA has no folder")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the CA's folder: %w", err)
	}
	path := filepath.Join(dir, lockFile)
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	l := flock.New(path)
	_, err = l.TryLockContext(ctx, lockRetry)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, &StateError{Path: path, Problem: "is held by another process", Hint: "end the heed that hangs, then try again"}
	}
	if err != nil {
		return nil, fmt.Errorf("lock the CA's folder: %w", err)
	}
	// Closing the file ends the lock, whatever Unlock says.
	return func() { _ = l.Unlock() }, nil
}

// publish puts the pair in place; the lock is held. Both files are whole on disk before anything is moved, and the
// key goes first: a certificate that is there has its key.
func publish(dir string, certPEM, keyPEM []byte) error {
	keyTemp, err := stage(dir, keyFile, keyPEM, 0o600)
	if err != nil {
		return err
	}
	defer remove(keyTemp)
	certTemp, err := stage(dir, certFile, certPEM, 0o644)
	if err != nil {
		return err
	}
	defer remove(certTemp)

	suffix := ".old-" + time.Now().UTC().Format("20060102T150405.000000000Z")
	for _, name := range []string{certFile, keyFile} {
		path := filepath.Join(dir, name)
		if err := os.Rename(path, path+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(keyTemp, filepath.Join(dir, keyFile)); err != nil {
		return err
	}
	if err := os.Rename(certTemp, filepath.Join(dir, certFile)); err != nil {
		return err
	}
	syncDir(dir)
	return nil
}

// stage writes data to a new temporary file beside its destination and syncs it.
func stage(dir, name string, data []byte, mode fs.FileMode) (path string, err error) {
	f, err := os.CreateTemp(dir, "."+name+".tmp-*")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	// CreateTemp gives 0600 less the umask; the mode is set afterwards, so that the umask has no say.
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	return f.Name(), err
}

// remove drops a temporary file, which is gone already once it has been renamed.
func remove(path string) {
	_ = os.Remove(path)
}

// syncDir makes the renames durable where the system can do that. Not all can (Windows, some network file systems);
// what a power cut there may undo is a rename, never the contents of a file.
func syncDir(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	_ = d.Sync()
	_ = d.Close()
}
