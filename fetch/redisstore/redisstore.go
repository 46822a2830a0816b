package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"time"

	"github.com/redis/go-redis/v9"

	"heed/fetch"
)

const (
	prefix  = "heed:1:"
	changes = prefix + "changes"
)

func entryKey(origin string) string { return prefix + "{" + origin + "}:entry" }
func leaseKey(origin string) string { return prefix + "{" + origin + "}:lease" }
func bodyKey(sha256 string) string  { return prefix + "body:" + sha256 }

// maxChanges is about how many changes the stream keeps. A process that falls
// further behind between two looks misses some; they reach it when its copies
// end.
const maxChanges = 20_000

// A Store is a [fetch.Fleet] in Redis. Use [Open]; all methods may be called
// from many goroutines.
type Store struct {
	client redis.UniversalClient
	id     string // tells this process's changes from those of others
}

var _ fetch.Fleet = (*Store)(nil)

// Open returns the store at a redis:// or rediss:// URL, of one server, of
// sentinels or of a cluster. It connects when it is first used, and each call
// takes no longer than timeout. The errors do not repeat the URL. Close it.
func Open(url string, timeout time.Duration) (*Store, error) {
	client, err := newClient(url, timeout)
	if err != nil {
		return nil, err
	}
	return &Store{client: client, id: rand.Text()}, nil
}

// Close closes the connections.
func (s *Store) Close() error { return s.client.Close() }

// Load implements [fetch.Backend]. An entry that cannot be read is one that was
// not stored.
func (s *Store) Load(ctx context.Context, origin string) (fetch.Entry, error) {
	data, err := s.client.Get(ctx, entryKey(origin)).Bytes()
	if err != nil {
		return fetch.Entry{}, orNotStored(err)
	}
	e, err := fetch.DecodeEntry(data)
	if err != nil {
		return fetch.Entry{}, fetch.ErrNotStored
	}
	return e, nil
}

// Body implements [fetch.Backend].
func (s *Store) Body(ctx context.Context, sha256 string) ([]byte, error) {
	body, err := s.client.Get(ctx, bodyKey(sha256)).Bytes()
	return body, orNotStored(err)
}

func orNotStored(err error) error {
	if errors.Is(err, redis.Nil) {
		return fetch.ErrNotStored
	}
	return err
}

// Save implements [fetch.Backend]. It survives a crash of heed; what a crash of
// the server costs is up to how that persists.
func (s *Store) Save(ctx context.Context, e fetch.Entry, body []byte) error {
	keep := time.Until(e.Keep)
	if keep <= 0 {
		return s.Delete(ctx, e.Origin)
	}
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		if e.SHA256 != "" {
			p.Set(ctx, bodyKey(e.SHA256), body, keep)
		}
		p.Set(ctx, entryKey(e.Origin), e.Encode(), keep)
		s.tell(ctx, p, e.Origin)
		return nil
	})
	return err
}

// tell adds a change to the stream.
func (s *Store) tell(ctx context.Context, c redis.Cmdable, origin string) *redis.StringCmd {
	return c.XAdd(ctx, &redis.XAddArgs{Stream: changes, MaxLen: maxChanges, Approx: true, Values: []string{"o", origin, "by", s.id}})
}

// Delete implements [fetch.Backend]. The body stays until it expires: others may
// have it.
func (s *Store) Delete(ctx context.Context, origin string) error {
	n, err := s.client.Del(ctx, entryKey(origin)).Result()
	if err != nil || n == 0 {
		return err
	}
	return s.tell(ctx, s.client, origin).Err()
}

// Entries implements [fetch.Backend].
func (s *Store) Entries(ctx context.Context) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		stopped := errors.New("stopped")
		err := s.eachServer(ctx, func(c *redis.Client) error {
			var cursor uint64
			for {
				keys, next, err := c.Scan(ctx, cursor, prefix+"{*}:entry", 1000).Result()
				if err != nil {
					return err
				}
				for _, data := range values(ctx, c, keys) {
					if e, err := fetch.DecodeEntry(data); err == nil && !yield(e, nil) {
						return stopped
					}
				}
				if cursor = next; cursor == 0 {
					return nil
				}
			}
		})
		if err != nil && err != stopped {
			yield(fetch.Entry{}, err)
		}
	}
}

// values reads many keys, and passes over those that are gone meanwhile.
func values(ctx context.Context, c *redis.Client, keys []string) [][]byte {
	var out [][]byte
	cmds, _ := c.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for _, key := range keys {
			p.Get(ctx, key)
		}
		return nil
	})
	for _, cmd := range cmds {
		if data, err := cmd.(*redis.StringCmd).Bytes(); err == nil {
			out = append(out, data)
		}
	}
	return out
}

// eachServer calls f with each server that has keys, one after the other.
func (s *Store) eachServer(ctx context.Context, f func(*redis.Client) error) error {
	switch c := s.client.(type) {
	case *redis.Client:
		return f(c)
	case *redis.ClusterClient:
		var servers []*redis.Client
		found := make(chan *redis.Client)
		done := make(chan error, 1)
		go func() {
			done <- c.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error { found <- c; return nil })
			close(found)
		}()
		for server := range found {
			servers = append(servers, server)
		}
		if err := <-done; err != nil {
			return err
		}
		for _, server := range servers {
			if err := f(server); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.New("unknown kind of redis client")
}
