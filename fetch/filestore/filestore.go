package filestore

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"

	bolt "go.etcd.io/bbolt"

	"heed/fetch"
)

// ErrLocked says that another process, probably a running heed, has the file.
var ErrLocked = errors.New("the store file is held by another process")

var errClosed = errors.New("the store file is closed")

// A Store is a [fetch.Backend] in a file. Use [Open]; all methods may be called
// from many goroutines.
type Store struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex
	db     *database // nil when it is closed, or could not be begun anew
	closed bool

	end     chan struct{}
	running sync.WaitGroup
}

var _ fetch.Backend = (*Store)(nil)

// Open opens the file at path and makes it if there is none; its folder must be
// there. It waits half a second for another process to let go of it, and returns
// [ErrLocked] then. A file that is damaged is moved aside. Close it.
func Open(path string, log *slog.Logger) (*Store, error) {
	s := &Store{path: path, log: log, end: make(chan struct{})}
	db, err := openChecked(path)
	if errors.As(err, new(*damage)) {
		db, err = s.anew(err)
	}
	if err != nil {
		return nil, err
	}
	s.use(db)
	s.running.Go(s.sweeper)
	return s, nil
}

// use makes db the one that is read and written.
func (s *Store) use(db *database) {
	s.db = db
	go s.writer(db) // until s.end or db.gone; Close waits for db.idle
}

// Close ends what goes on and closes the file. Nothing that was reported saved
// is lost.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	db := s.db
	s.db = nil
	s.mu.Unlock()
	close(s.end)
	s.running.Wait()
	if db == nil {
		return nil
	}
	<-db.idle
	return guard(db.Close)
}

// Load implements [fetch.Backend].
func (s *Store) Load(_ context.Context, origin string) (e fetch.Entry, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		e, err = readEntry(tx.Bucket(entries).Get([]byte(origin)))
		return err
	})
	return e, err
}

// Body implements [fetch.Backend].
func (s *Store) Body(_ context.Context, sha256 string) (body []byte, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		value := tx.Bucket(bodies).Get(bodyKey(sha256))
		if value == nil {
			return fetch.ErrNotStored
		}
		body = append([]byte{}, value...) // value is only valid in the transaction
		return nil
	})
	return body, err
}

// Save implements [fetch.Backend].
func (s *Store) Save(ctx context.Context, e fetch.Entry, body []byte) error {
	entry := writeEntry(e)
	return s.write(ctx, func(tx *bolt.Tx, db *database) error {
		return put(tx, db.inUse, e.Origin, entry, e.SHA256, body)
	})
}

// Delete implements [fetch.Backend].
func (s *Store) Delete(ctx context.Context, origin string) error {
	return s.write(ctx, func(tx *bolt.Tx, _ *database) error {
		return tx.Bucket(entries).Delete([]byte(origin))
	})
}

// Entries implements [fetch.Backend]. Damaged entries are passed over.
func (s *Store) Entries(ctx context.Context) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		var next []byte
		for more := true; more; {
			var page []fetch.Entry
			err := s.view(func(tx *bolt.Tx) error {
				c := tx.Bucket(entries).Cursor()
				k, v := c.Seek(next)
				for ; k != nil && len(page) < chunk; k, v = c.Next() {
					if e, err := readEntry(v); err == nil {
						page = append(page, e)
					}
				}
				next, more = append([]byte{}, k...), k != nil
				return ctx.Err()
			})
			if err != nil {
				yield(fetch.Entry{}, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// Healthy returns an error when the file is not open.
func (s *Store) Healthy() error {
	_, err := s.current()
	return err
}

func (s *Store) current() (*database, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil, errClosed
	}
	return s.db, nil
}

// view reads. Damage that it meets has the file replaced.
func (s *Store) view(read func(*bolt.Tx) error) error {
	db, err := s.current()
	if err != nil {
		return err
	}
	err = guard(func() error { return db.View(read) })
	s.replaceIfDamaged(db, err)
	return err
}
