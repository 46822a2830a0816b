package fetch

import (
	"context"
	"errors"
	"iter"
	"time"

	"heed/policy"
)

// Info tells of one origin's robots.txt as it is remembered.
type Info struct {
	Origin string
	Where  string        // "memory", or "store" when only the backend has it
	Access policy.Access // what a request would get now, without Robots; Retrieved and SHA256 are the file's
	Fresh  time.Time     // the end of freshness; past when it is over, zero when nothing settled the matter
	Size   int           // octets of the file
	// Foreign is what the file is instead of a robots.txt (see
	// policy.Robots.Foreign).
	Foreign string
	Used    time.Time // last request for it in this process; zero in the backend
	Failed  int       // attempts in a row that failed since
}

// Infos yields what is remembered in memory, and then what only the backend
// has, in no order. An error of the backend comes last.
func (s *Store) Infos(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		now := time.Now()
		for _, at := range s.memory.all() {
			if !yield(infoOf(at, now), nil) {
				return
			}
		}
		if s.options.Backend == nil {
			return
		}
		for e, err := range s.options.Backend.Entries(ctx) {
			if err != nil {
				yield(Info{}, err)
				return
			}
			if s.memory.get(e.Origin) != nil {
				continue
			}
			if i, ok := s.stored(e, now); ok && !yield(i, nil) {
				return
			}
		}
	}
}

// Info returns what is remembered of o, and whether anything is. The error is
// one of the backend.
func (s *Store) Info(ctx context.Context, o policy.Origin) (Info, bool, error) {
	key := keyOf(o)
	if at := s.memory.get(key); at != nil {
		return infoOf(at, time.Now()), true, nil
	}
	if s.options.Backend == nil {
		return Info{}, false, nil
	}
	e, err := s.options.Backend.Load(ctx, key)
	if errors.Is(err, ErrNotStored) {
		return Info{}, false, nil
	}
	if err != nil {
		return Info{}, false, err
	}
	i, ok := s.stored(e, time.Now())
	return i, ok, nil
}

// Refresh asks o for its robots.txt now, whatever is remembered, and returns
// what is known then. The errors are those of Access.
func (s *Store) Refresh(ctx context.Context, o policy.Origin) (policy.Access, error) {
	if err := ctx.Err(); err != nil {
		return policy.Access{}, err
	}
	return s.await(ctx, o, how{force: true})
}

// Forget drops what is remembered of o, here and in the backend. A fleet hears
// of it. The error is one of the backend.
func (s *Store) Forget(ctx context.Context, o policy.Origin) error {
	key := keyOf(o)
	s.memory.delete(key)
	if s.options.Backend == nil {
		return nil
	}
	return s.options.Backend.Delete(ctx, key)
}

func infoOf(at *slot, now time.Time) Info {
	i := at.known.Load().info(at.origin, now)
	i.Where, i.Used = "memory", time.Unix(0, at.used.Load())
	return i
}

// stored is false for an entry that is of no use any more.
func (s *Store) stored(e Entry, now time.Time) (Info, bool) {
	target, err := policy.ParseTarget(e.Origin)
	if err != nil || !now.Before(e.Keep) {
		return Info{}, false
	}
	i := s.fromEntry(target.Origin, e, nil).info(e.Origin, now)
	i.Where, i.Foreign = "store", e.Foreign
	return i, true
}

func (k *known) info(origin string, now time.Time) Info {
	standing, _ := k.at(now)
	if standing == unknown && k.trouble == nil {
		standing = fresh // over, as Fresh says
	}
	i := Info{Origin: origin, Fresh: k.fresh}
	k.result(&i.Access, standing)
	if k.file != nil {
		i.Size, i.Foreign = len(k.file.body), k.file.foreign
	}
	if k.trouble != nil {
		i.Failed = k.trouble.failures
	}
	return i
}
