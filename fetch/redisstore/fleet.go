package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// A lease is a key that names its holder and expires. Both scripts touch that one
// key, so that they run in a cluster, too.
var (
	leaseScript = redis.NewScript(`
		local holder = redis.call("GET", KEYS[1])
		if holder and holder ~= ARGV[1] then return 0 end
		redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
		return 1`)
	releaseScript = redis.NewScript(`
		if redis.call("GET", KEYS[1]) == ARGV[1] then redis.call("DEL", KEYS[1]) end
		return 0`)
)

// Lease implements [fetch.Fleet].
func (s *Store) Lease(ctx context.Context, origin, holder string, d time.Duration) (bool, error) {
	n, err := leaseScript.Run(ctx, s.client, []string{leaseKey(origin)}, holder, d.Milliseconds()).Int()
	return n == 1, err
}

// Release implements [fetch.Fleet].
func (s *Store) Release(ctx context.Context, origin, holder string) error {
	return releaseScript.Run(ctx, s.client, []string{leaseKey(origin)}, holder).Err()
}

// page is how many changes one call returns at the most.
const page = 1000

// Changes implements [fetch.Fleet]. A server that came back empty goes on with
// higher cursors than before, since they are made of the time.
func (s *Store) Changes(ctx context.Context, cursor string) (origins []string, next string, err error) {
	if cursor == "" {
		last, err := s.client.XRevRangeN(ctx, changes, "+", "-", 1).Result()
		if err != nil {
			return nil, "", err
		}
		if len(last) == 0 {
			return nil, "0-0", nil
		}
		return nil, last[0].ID, nil
	}
	streams, err := s.client.XRead(ctx, &redis.XReadArgs{Streams: []string{changes, cursor}, Count: page, Block: -1}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, cursor, nil
	}
	if err != nil {
		return nil, "", err
	}
	for _, stream := range streams {
		for _, message := range stream.Messages {
			cursor = message.ID
			if origin, ok := message.Values["o"].(string); ok && message.Values["by"] != s.id {
				origins = append(origins, origin)
			}
		}
	}
	return origins, cursor, nil
}
