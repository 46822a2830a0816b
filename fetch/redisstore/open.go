package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// poolSize is how many connections a process may have: requests to origins that
// nobody has asked yet come in crowds.
const poolSize = 64

// quiet drops what go-redis would print: its failures are returned, too, and
// counted.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

var silence = sync.OnceFunc(func() { redis.SetLogger(quiet{}) })

// newClient reads a store URL as go-redis does:
//
//	redis://[user:password@]host:port[/db]   one server; rediss:// is TLS
//	redis://…?master_name=NAME[&addr=…]      the hosts are sentinels
//	redis://…?addr=host:port[&addr=…]        a cluster; ?cluster=true when one address is known
//
// Each call is tried once, and given no longer than timeout.
func newClient(rawURL string, timeout time.Duration) (redis.UniversalClient, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return nil, errors.New("not a URL of the form redis://[user:password@]host:port/db") // the text may hold a password
	}
	silence()
	query := u.Query()
	switch {
	case query.Has("master_name"):
		o, err := redis.ParseFailoverURL(rawURL)
		if err != nil {
			return nil, safe(err)
		}
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
		o.MaxRetries, o.ContextTimeoutEnabled, o.PoolSize, o.DisableIdentity = -1, true, poolSize, true
		return redis.NewFailoverClient(o), nil
	case query.Has("addr"), query.Get("cluster") == "true":
		query.Del("cluster")
		u.RawQuery = query.Encode()
		o, err := redis.ParseClusterURL(u.String())
		if err != nil {
			return nil, safe(err)
		}
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
		o.MaxRetries, o.ContextTimeoutEnabled, o.PoolSize, o.DisableIdentity = -1, true, poolSize, true
		o.MaintNotificationsConfig = noNotifications()
		return redis.NewClusterClient(o), nil
	}
	o, err := redis.ParseURL(rawURL)
	if err != nil {
		return nil, safe(err)
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
	o.MaxRetries, o.ContextTimeoutEnabled, o.PoolSize, o.DisableIdentity = -1, true, poolSize, true
	o.MaintNotificationsConfig = noNotifications()
	return redis.NewClient(o), nil
}

func noNotifications() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// safe keeps an error of go-redis that cannot hold what was parsed.
func safe(err error) error {
	if text := err.Error(); strings.HasPrefix(text, "redis: ") && !strings.Contains(text, "://") {
		return fmt.Errorf("%s", text)
	}
	return errors.New("not a redis URL")
}
