package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// damage says that the file is not what was written.
type damage struct{ what string }

func (d *damage) Error() string { return d.what }

// lockWait is how long another process is waited for.
const lockWait = 500 * time.Millisecond

// guard calls f and makes damage of its panics, among them what reading beyond
// the end of a file that was cut short leads to.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = &damage{fmt.Sprint(p)}
		}
	}()
	return f()
}

// A database is bbolt's, with what is written to it. One that is damaged is not
// closed: bbolt's Close may wait for a lock that a panic left behind, and so may
// whoever is at it now. The garbage collector closes its file, which is moved
// aside by then, locks and all.
type database struct {
	*bolt.DB
	writes chan write
	inUse  map[string]bool // bodies saved while a sweep goes on, else nil; the writer's
	gone   chan struct{}   // closed when another has taken its place
	idle   chan struct{}   // closed when its writer has ended
}

// openChecked opens the file and checks all of it.
func openChecked(path string) (*database, error) {
	db := &database{writes: make(chan write), gone: make(chan struct{}), idle: make(chan struct{})}
	var file *os.File
	err := guard(func() (err error) {
		db.DB, err = bolt.Open(path, 0o600, &bolt.Options{
			Timeout: lockWait,
			OpenFile: func(name string, flag int, mode fs.FileMode) (*os.File, error) {
				f, err := os.OpenFile(name, flag, mode)
				file = f
				return f, err
			},
		})
		return err
	})
	var system *fs.PathError
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, ErrLocked
	case errors.As(err, &system):
		return nil, err
	case err == nil:
		err = guard(func() error { return check(db.DB) })
	}
	if err != nil {
		_ = file.Close() // nobody else is at it yet
		return nil, &damage{err.Error()}
	}
	return db, nil
}

// check reads every page that is in use, and makes what a new file lacks.
func check(db *bolt.DB) error {
	err := db.View(func(tx *bolt.Tx) error {
		if info, err := os.Stat(db.Path()); err != nil || info.Size() < tx.Size() {
			return errors.New("the file is cut short")
		}
		// First in this goroutine, which survives what it may meet.
		for _, name := range [][]byte{entries, bodies} {
			if b := tx.Bucket(name); b != nil {
				if err := b.ForEach(func(_, _ []byte) error { return nil }); err != nil {
					return err
				}
			}
		}
		var first error
		for err := range tx.Check() {
			if first == nil {
				first = err
			}
		}
		return first
	})
	if err != nil {
		return err
	}
	return db.Update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{entries, bodies} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// replaceIfDamaged puts a new file in the place of db, which failed with err.
func (s *Store) replaceIfDamaged(db *database, err error) {
	if !errors.As(err, new(*damage)) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db != db || s.closed {
		return
	}
	close(db.gone)
	s.db = nil
	fresh, failed := s.anew(err)
	if failed != nil {
		s.log.Error("robots.txt store file cannot be begun anew", "path", s.path, "error", failed)
		return
	}
	s.use(fresh)
}

// anew moves the damaged file aside and begins another.
func (s *Store) anew(why error) (*database, error) {
	aside := s.path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000")
	if err := os.Rename(s.path, aside); err != nil {
		return nil, err
	}
	s.log.Warn("robots.txt store file is damaged: moved aside, begun anew", "path", s.path, "aside", aside, "damage", why)
	return openChecked(s.path)
}
