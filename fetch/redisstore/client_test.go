package redisstore_test

import (
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"heed/internal/testtool"
)

// redis sends one command to a server.
func redis(t *testing.T, r *testtool.Redis, args ...any) string {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: r.Addr, Protocol: 2})
	defer c.Close()
	answer, err := c.Do(t.Context(), args...).Text()
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return answer
}
