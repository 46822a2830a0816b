package fetch

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"heed/policy"
)

// ErrClosed is what Access returns when a robots.txt would have to be fetched
// after Close.
var ErrClosed = errors.New("the robots.txt store is closed")

// A Store knows the robots.txt of origins: it fetches each once, keeps the
// result as long as RFC 9111 and RFC 9309 2.4 let it, and lets all who ask
// meanwhile wait for the same fetch. Make one with [New]. It is safe for
// concurrent use.
type Store struct {
	options Options // with defaults
	memory  *memory
	lanes   *lanes
	guard   guard  // before options.Backend
	fleet   Fleet  // options.Backend, when it is one
	holder  string // of leases
	epoch   atomic.Uint64
	agent   atomic.Pointer[string] // User-Agent

	mu      sync.Mutex
	flights map[policy.Origin]*flight // retrievals on their way
	later   refreshes
	closed  bool
	end     context.CancelFunc // ends what is not a flight

	running sync.WaitGroup // all that was started
}

// New makes a Store. Close it to end what it started.
func New(o Options) *Store {
	o = o.withDefaults()
	ctx, end := context.WithCancel(context.Background())
	s := &Store{
		options: o,
		memory:  newMemory(o.MaxOrigins, o.MaxMemory),
		lanes:   newLanes(o.MaxFetches),
		holder:  newHolder(),
		flights: make(map[policy.Origin]*flight),
		later:   refreshes{pending: make(map[policy.Origin]bool)},
		end:     end,
	}
	s.SetUserAgent(o.UserAgent)
	s.guard.log = o.Log
	if fleet, ok := o.Backend.(Fleet); ok {
		s.fleet = fleet
		s.running.Go(func() { s.watch(ctx) })
	}
	return s
}

// Access returns what is known of o's robots.txt. A copy that is fresh enough is
// returned at once, and replaced in the background when its end is near;
// otherwise the file is looked for in the backend and fetched. Whatever goes
// wrong with the origin is an unreachable result, or the last good copy, marked
// stale. The error is ctx's own, for a caller that does not wait any longer, or
// [ErrClosed]; the result beside it is the zero value, which disallows.
func (s *Store) Access(ctx context.Context, o policy.Origin) (a policy.Access, err error) {
	if err := ctx.Err(); err != nil {
		return a, err
	}
	now := time.Now() // before the lookup: reading the clock would wait for all that memory has to deliver
	var room [maxKey]byte
	if at := s.memory.get(string(appendKey(room[:0], o))); at != nil { // of 32 octets, on the stack
		k := at.known.Load()
		if standing, due := k.at(now); standing != unknown {
			touch(&at.used, now)
			if due || at.seen.Load() != s.epoch.Load() {
				s.refreshLater(o, at, now)
			}
			s.options.OnLookup(lookupOf(standing))
			s.result(&a, k, standing, now)
			return a, nil
		}
	}
	return s.await(ctx, o, how{})
}

// result completes what k says with the rules of its file.
func (s *Store) result(a *policy.Access, k *known, standing standing, now time.Time) {
	k.result(a, standing)
	if a.Result == policy.Successful {
		a.Robots = s.memory.rules(k.file, now)
	}
}

func lookupOf(s standing) Lookup {
	if s == stale {
		return Stale
	}
	return Hit
}

// Len returns the number of origins in memory, those included whose time is
// over and that nobody has asked for since.
func (s *Store) Len() int { return s.memory.len() }

// StoreErrors returns how many calls of the backend have failed.
func (s *Store) StoreErrors() uint64 { return s.guard.errors.Load() }

// Healthy returns an error while the backend does not work and is done without.
func (s *Store) Healthy() error {
	if !s.guard.healthy() {
		return errStoreDown
	}
	return nil
}

// Close cancels the retrievals on their way, whose callers get an unreachable
// result, and waits until everything that was started has ended. It may be
// called more than once.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	for _, f := range s.flights {
		f.cancel()
	}
	s.mu.Unlock()
	s.end()
	s.running.Wait()
	s.guard.running.Wait()
}

// maxKey is the length of the longest key whose host is a name (RFC 1035 2.3.4).
const maxKey = len("https://") + 253 + len(":65535")

// keyOf is o.String() with one allocation whatever the port.
func keyOf(o policy.Origin) string {
	var room [maxKey]byte
	return string(appendKey(room[:0], o))
}

func appendKey(b []byte, o policy.Origin) []byte {
	b = append(append(b, o.Scheme...), "://"...)
	if strings.IndexByte(o.Host, ':') >= 0 {
		b = append(append(append(b, '['), o.Host...), ']')
	} else {
		b = append(b, o.Host...)
	}
	if o.Port != policy.DefaultPort(o.Scheme) {
		b = strconv.AppendUint(append(b, ':'), uint64(o.Port), 10)
	}
	return b
}
