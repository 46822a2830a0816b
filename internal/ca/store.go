package ca

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

const (
	certFile = "ca.pem"
	keyFile  = "ca-key.pem"
)

// Open loads the CA in dir, and makes one first when there is none. Any number of processes and goroutines may open
// one dir at once: they get one and the same CA. Files that are there are never changed; a pair that cannot be used
// is a [*StateError]. A dir that holds a CA may be read-only.
func Open(dir string) (*Authority, error) {
	a, err := Load(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return a, err
	}
	unlock, err := lock(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	a, err = read(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return a, err
	}
	return create(dir)
}

// Load loads the CA in dir and makes none: when there is none the error is [fs.ErrNotExist]. A pair that cannot be
// used is a [*StateError].
func Load(dir string) (*Authority, error) {
	a, err := read(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return a, err
	}
	// Another process may stand between its two renames: look again when nobody is writing. Where the lock cannot be
	// had, as in a read-only folder, nobody writes either.
	unlock, lockErr := lock(dir)
	if lockErr != nil {
		return nil, err
	}
	defer unlock()
	return read(dir)
}

// Init makes a new CA in dir. Where there is one already, or half of one, the error is [fs.ErrExist] unless force is
// set; then the old files stay beside the new ones as ca.pem.old-TIME and ca-key.pem.old-TIME. Clients that trust the
// old CA do not trust the new one.
func Init(dir string, force bool) (*Authority, error) {
	unlock, err := lock(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	cert, key, err := presence(dir)
	if err != nil {
		return nil, err
	}
	if (cert || key) && !force {
		return nil, &StateError{
			Path:    dir,
			Problem: "there is a CA already",
			Hint:    "to replace it, keeping the old files beside it: heed ca init --force",
			Err:     fs.ErrExist,
		}
	}
	return create(dir)
}

// create makes a CA and publishes it; the lock is held. What it returns has been read back from the files.
func create(dir string) (*Authority, error) {
	certPEM, keyPEM, err := generate(time.Now())
	if err != nil {
		return nil, err
	}
	if err := publish(dir, certPEM, keyPEM); err != nil {
		return nil, fmt.Errorf("write the CA to %s: %w", dir, err)
	}
	return read(dir)
}

func read(dir string) (*Authority, error) {
	if err := requirePair(dir); err != nil {
		return nil, err
	}
	certPath, keyPath := filepath.Join(dir, certFile), filepath.Join(dir, keyFile)
	certPEM, err := os.ReadFile(certPath)
	if err != nil {
		return nil, unreadable(certPath, err)
	}
	cert, err := parseCertificate(certPEM)
	if err != nil {
		return nil, &StateError{Path: certPath, Problem: err.Error(), Hint: newCAHint}
	}
	if err := check(certPath, cert, time.Now()); err != nil {
		return nil, err
	}
	keyPEM, err := readPrivate(keyPath)
	if err != nil {
		return nil, err
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return nil, &StateError{Path: keyPath, Problem: err.Error(), Hint: "convert it with: openssl pkey -in OLD -out " + keyPath}
	}
	if !matches(cert, key) {
		return nil, &StateError{Path: keyPath, Problem: "is not the key of the certificate in " + certPath, Hint: newCAHint}
	}
	return newAuthority(dir, cert, key)
}

func requirePair(dir string) error {
	cert, key, err := presence(dir)
	switch {
	case err != nil:
		return err
	case cert && key:
		return nil
	case cert || key:
		there, missing := certFile, keyFile
		if key {
			there, missing = keyFile, certFile
		}
		return &StateError{
			Path:    filepath.Join(dir, missing),
			Problem: "is missing, although " + there + " is there",
			Hint:    "restore it, or make a new CA with: heed ca init --force",
		}
	}
	return &StateError{Path: dir, Problem: "holds no CA", Hint: "make one with: heed ca init", Err: fs.ErrNotExist}
}

// presence says which of the two files exist. A dangling symbolic link counts as there: it is somebody's CA, not yet
// mounted perhaps, and must not be overwritten.
func presence(dir string) (cert, key bool, err error) {
	if cert, err = exists(filepath.Join(dir, certFile)); err != nil {
		return false, false, err
	}
	key, err = exists(filepath.Join(dir, keyFile))
	return cert, key, err
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, unreadable(path, err)
	}
	return true, nil
}

// readPrivate reads a file that nobody but its owner may touch, except a group to which its folder was given. Windows
// has no such mode bits; there the folder's access list protects it.
func readPrivate(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	mode, private := info.Mode().Perm(), fs.FileMode(0o077)
	if ofGroup(filepath.Dir(path)) {
		private = 0o007
	}
	if mode&private != 0 && runtime.GOOS != "windows" {
		return nil, &StateError{
			Path:    path,
			Problem: fmt.Sprintf("is open to other users (mode %04o)", mode),
			Hint:    "chmod 600 " + path,
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return data, nil
}

// ofGroup reports whether dir was given to a group on purpose: nothing sets the set-group-ID bit by accident.
// Kubernetes sets it for a pod's fsGroup, and opens every file of the volume to that group each time it is mounted
// (0660; a Secret of 0400 becomes 0440). Without this a pod could not read its own CA back.
func ofGroup(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.Mode()&fs.ModeSetgid != 0
}

// unreadable hides err from errors.Is on purpose: a file that is there and cannot be read is no absent CA.
func unreadable(path string, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return &StateError{Path: path, Problem: fmt.Sprintf("cannot be read: %v", err)}
}
