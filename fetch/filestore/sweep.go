package filestore

import (
	"context"
	"errors"
	"time"

	bolt "go.etcd.io/bbolt"
)

// sweepEvery is how often what is of no use any more is looked for.
const sweepEvery = time.Hour

func (s *Store) sweeper() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.running.Go(func() {
		select {
		case <-s.end:
			cancel()
		case <-ctx.Done():
		}
	})
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := s.sweep(ctx, time.Now()); err != nil && ctx.Err() == nil && !errors.Is(err, errClosed) {
			s.log.Warn("robots.txt store file could not be swept", "path", s.path, "error", err)
		}
		select {
		case <-tick.C:
		case <-s.end:
			return
		}
	}
}

// sweep removes entries whose time is over and bodies that no entry names. The
// deletions run in the writer, between saves: what was saved since the sweep
// began is in inUse, and what was saved before it is met by the scan.
func (s *Store) sweep(ctx context.Context, now time.Time) error {
	sweeping := func(inUse map[string]bool) error {
		return s.write(ctx, func(_ *bolt.Tx, db *database) error { db.inUse = inUse; return nil })
	}
	if err := sweeping(map[string]bool{}); err != nil {
		return err
	}
	named := map[string]bool{}
	err := s.removeIf(ctx, entries, func(_, value []byte, _ map[string]bool) bool {
		e, err := readEntry(value)
		if err == nil && now.Before(e.Keep) {
			named[string(bodyKey(e.SHA256))] = true
			return false
		}
		return true
	})
	if err == nil {
		err = s.removeIf(ctx, bodies, func(key, _ []byte, inUse map[string]bool) bool {
			return inUse != nil && !named[string(key)] && !inUse[string(key)]
		})
	}
	return errors.Join(err, sweeping(nil))
}

// chunk is how many entries one transaction reads or deletes: while one that
// reads is open, the file cannot grow.
const chunk = 1000

// removeIf deletes what gone says, chunk by chunk. gone is called in the writer.
func (s *Store) removeIf(ctx context.Context, bucket []byte, gone func(key, value []byte, inUse map[string]bool) bool) error {
	var next []byte
	for more := true; more; {
		err := s.write(ctx, func(tx *bolt.Tx, db *database) error {
			b := tx.Bucket(bucket)
			c := b.Cursor()
			var keys [][]byte
			k, v := c.Seek(next)
			for n := 0; k != nil && n < chunk; n++ {
				if gone(k, v, db.inUse) {
					keys = append(keys, append([]byte{}, k...))
				}
				k, v = c.Next()
			}
			next, more = append([]byte{}, k...), k != nil
			for _, key := range keys { // not under the cursor, which deletions confuse
				if err := b.Delete(key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
