package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"heed/policy"
)

// consult asks the backend about o, and a fleet for leave to fetch. found says
// that memory now has what the backend has. leave says that another process is
// at it, and that there is no need to wait for that.
func (s *Store) consult(ctx context.Context, o policy.Origin, c *claim, h how) (found, leave bool) {
	if s.options.Backend == nil {
		return false, false
	}
	// One time-out for all that is asked before the origin is.
	bounded, cancel := context.WithTimeout(ctx, s.options.StoreTimeout)
	defer cancel()
	had, err := s.adopt(bounded, o)
	found = had == agreed
	if err != nil || s.fleet == nil {
		return found, false
	}
	if found {
		if _, ok := s.recall(keyOf(o), h, Stored); ok {
			return true, false
		}
	}
	return s.share(ctx, bounded, o, c, h)
}

// had is what a backend had about an origin, compared with memory.
type had uint8

const (
	absent had = iota // nothing that can be used
	older             // less than memory
	agreed            // what memory knows by now
)

// adopt brings memory up to what the backend knows of o.
func (s *Store) adopt(ctx context.Context, o policy.Origin) (had, error) {
	key, b, epoch := keyOf(o), s.options.Backend, s.epoch.Load()
	e, err := ask(ctx, &s.guard, "load", func(ctx context.Context) (Entry, error) { return b.Load(ctx, key) })
	at := s.memory.get(key)
	switch {
	case err != nil && !errors.Is(err, ErrNotStored):
		return absent, err
	case at != nil:
		at.seen.Store(epoch)
	}
	if err != nil {
		return absent, nil
	}
	if at != nil {
		switch mine := millis(at.known.Load().updated); {
		case mine == millis(e.Updated):
			return agreed, nil
		case mine > millis(e.Updated):
			return older, nil
		}
	}
	var f *file
	if e.Result == policy.Successful {
		if f, err = s.body(ctx, e.SHA256); err != nil || f == nil {
			return absent, err
		}
	}
	k := s.fromEntry(o, e, f)
	if k.file != nil { // also one that rules only while the origin is unreachable
		s.options.OnFile(o, k.access, k.file.body)
	}
	s.memory.put(key, k, epoch)
	return agreed, nil
}

// body returns the file of a SHA-256, from memory if an origin there has it.
// One that is missing or not what its name says is nil.
func (s *Store) body(ctx context.Context, sum string) (*file, error) {
	if f := s.memory.file(sum); f != nil {
		return f, nil
	}
	b := s.options.Backend
	body, err := ask(ctx, &s.guard, "body", func(ctx context.Context) ([]byte, error) { return b.Body(ctx, sum) })
	switch {
	case errors.Is(err, ErrNotStored):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if got := sha256.Sum256(body); hex.EncodeToString(got[:]) != sum {
		s.guard.errors.Add(1)
		s.options.Log.Warn("robots.txt store returned another body than was kept", "sha256", sum)
		return nil, nil
	}
	return newFile(sum, body), nil
}

// saveTime is how many store time-outs a save may take: no request waits for
// it, and one that is given up is fetched again.
const saveTime = 4

// save gives the backend what is known. What must not be stored takes the place
// of what was.
func (s *Store) save(key string, k *known) {
	b := s.options.Backend
	if b == nil {
		return
	}
	if k.trouble != nil && k.trouble.access.EgressDenied {
		return // that is what this process may dial, and no news of the origin
	}
	// Not on the flight's own context: what Close cuts short is worth keeping.
	ctx, cancel := context.WithTimeout(context.Background(), saveTime*s.options.StoreTimeout)
	defer cancel()
	// The error has been counted, and told when it was the first.
	if k.noStore {
		_ = s.guard.do(ctx, "delete", func(ctx context.Context) error { return b.Delete(ctx, key) })
		return
	}
	e := k.entry(key)
	var body []byte
	if k.file != nil {
		body = k.file.body
	}
	_ = s.guard.do(ctx, "save", func(ctx context.Context) error { return b.Save(ctx, e, body) })
}
