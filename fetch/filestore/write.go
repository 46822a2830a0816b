package filestore

import (
	"context"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// A write is one change, made by the writer in a transaction that it may share
// with others.
type write struct {
	apply func(*bolt.Tx) error
	done  chan error
}

// maxBatch is how many writes share one transaction, and so one fsync.
const maxBatch = 500

// write has the writer apply a change and waits until it is on disk.
func (s *Store) write(ctx context.Context, apply func(*bolt.Tx) error) error {
	w := write{apply: apply, done: make(chan error, 1)}
	select {
	case s.writes <- w:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.end:
		return errClosed
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// writer writes until the store ends, all that has come meanwhile at once.
func (s *Store) writer() {
	for {
		var batch []write
		select {
		case w := <-s.writes:
			batch = append(batch, w)
		case <-s.end:
			return
		}
		for more := true; more && len(batch) < maxBatch; {
			select {
			case w := <-s.writes:
				batch = append(batch, w)
			default:
				more = false
			}
		}
		db, err := s.guarded(func(db *bolt.DB) error {
			return db.Update(func(tx *bolt.Tx) error {
				for _, w := range batch {
					if err := w.apply(tx); err != nil {
						return err
					}
				}
				return nil
			})
		})
		s.replaceIfDamaged(db, err)
		for _, w := range batch {
			w.done <- err
		}
	}
}

// put is the change that saves an entry and the body it names, if it names one.
func (s *Store) put(origin string, entry []byte, sha256 string, body []byte) func(*bolt.Tx) error {
	return func(tx *bolt.Tx) error {
		if sha256 != "" {
			key, b := bodyKey(sha256), tx.Bucket(bodies)
			if key == nil {
				return fmt.Errorf("%q is not a SHA-256", sha256)
			}
			if s.inUse != nil {
				s.inUse[string(key)] = true
			}
			if b.Get(key) == nil {
				if err := b.Put(key, body); err != nil {
					return err
				}
			}
		}
		return tx.Bucket(entries).Put([]byte(origin), entry)
	}
}
