package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// A write is one change, made by the writer in a transaction that it may share
// with others.
type write struct {
	apply func(*bolt.Tx, *database) error
	done  chan error
}

// maxBatch is how many writes share one transaction, and so one fsync.
const maxBatch = 500

// errReplaced is what is lost with a damaged file.
var errReplaced = errors.New("the store file was damaged, and is replaced")

// write has the writer apply a change and waits until it is on disk.
func (s *Store) write(ctx context.Context, apply func(*bolt.Tx, *database) error) error {
	db, err := s.current()
	if err != nil {
		return err
	}
	w := write{apply: apply, done: make(chan error, 1)}
	select {
	case db.writes <- w:
	case <-ctx.Done():
		return ctx.Err()
	case <-db.gone:
		return errReplaced
	case <-s.end:
		return errClosed
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-db.gone:
		return errReplaced
	}
}

// writer writes to db until the store ends, all that has come meanwhile at once.
// A panic elsewhere in bbolt can leave it waiting for ever: then db is gone, and
// another has taken its place.
func (s *Store) writer(db *database) {
	defer close(db.idle)
	for {
		var batch []write
		select {
		case w := <-db.writes:
			batch = append(batch, w)
		case <-s.end:
			return
		case <-db.gone:
			return
		}
		for more := true; more && len(batch) < maxBatch; {
			select {
			case w := <-db.writes:
				batch = append(batch, w)
			default:
				more = false
			}
		}
		err := guard(func() error {
			return db.Update(func(tx *bolt.Tx) error {
				for _, w := range batch {
					if err := w.apply(tx, db); err != nil {
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

// put saves an entry and the body it names, if it names one.
func put(tx *bolt.Tx, inUse map[string]bool, origin string, entry []byte, sha256 string, body []byte) error {
	if sha256 != "" {
		key, b := bodyKey(sha256), tx.Bucket(bodies)
		if key == nil {
			return fmt.Errorf("%q is not a SHA-256", sha256)
		}
		if inUse != nil {
			inUse[string(key)] = true
		}
		if !bytes.Equal(b.Get(key), body) { // not there, or damaged
			if err := b.Put(key, body); err != nil {
				return err
			}
		}
	}
	return tx.Bucket(entries).Put([]byte(origin), entry)
}
