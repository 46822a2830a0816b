package main

import (
	"context"
	"iter"
	"time"

	"heed/fetch"
	"heed/internal/admin"
	"heed/policy"
)

// cachedRobots is the JSON form of what is remembered of an origin, for the
// admin listener and for --json.
type cachedRobots struct {
	Origin    string     `json:"origin"`
	Where     string     `json:"where"` // memory | store
	Access    string     `json:"access"`
	Status    int        `json:"status,omitempty"`
	URL       string     `json:"url"`
	FinalURL  string     `json:"final_url,omitempty"`
	SHA256    string     `json:"sha256,omitempty"`
	Size      int        `json:"size,omitempty"`
	Type      string     `json:"type,omitempty"`       // that the server gave, if not text/plain
	NotRobots string     `json:"not_robots,omitempty"` // what it is instead: it has no rules
	Retrieved *time.Time `json:"retrieved,omitempty"`
	Fresh     *time.Time `json:"fresh_until,omitempty"`
	Stale     bool       `json:"stale,omitempty"`
	Cause     string     `json:"cause,omitempty"`
	Failures  int        `json:"failures,omitempty"`
	Retry     *time.Time `json:"retry,omitempty"`
	Used      *time.Time `json:"used,omitempty"`
}

func newCachedRobots(i fetch.Info) cachedRobots {
	a := i.Access
	return cachedRobots{
		Origin: i.Origin, Where: i.Where, Access: a.Result.String(), Status: a.Status, URL: a.URL, FinalURL: a.FinalURL,
		SHA256: a.SHA256, Size: i.Size, Type: a.MediaType, NotRobots: i.Foreign, Retrieved: moment(a.Retrieved), Fresh: moment(i.Fresh),
		Stale: a.Stale, Cause: a.Cause, Failures: i.Failed, Retry: moment(a.Retry), Used: moment(i.Used),
	}
}

// moment is nil for the zero time, which JSON would show.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// robotsAPI gives the admin listener the robots.txt cache.
func robotsAPI(s *fetch.Store) admin.Robots {
	c := cacheOf{s}
	return admin.Robots{
		List: func(ctx context.Context) iter.Seq2[any, error] {
			return func(yield func(any, error) bool) {
				for r, err := range c.list(ctx) {
					if !yield(r, err) {
						return
					}
				}
			}
		},
		Show: func(ctx context.Context, o policy.Origin) (any, bool, error) { return c.show(ctx, o) },
		Refresh: func(ctx context.Context, o policy.Origin) (any, error) {
			return c.refresh(ctx, o)
		},
		Forget: s.Forget,
	}
}

// cacheOf is the cache of a fetch.Store as heed robots sees it.
type cacheOf struct{ store *fetch.Store }

func (c cacheOf) list(ctx context.Context) iter.Seq2[cachedRobots, error] {
	return func(yield func(cachedRobots, error) bool) {
		for i, err := range c.store.Infos(ctx) {
			if !yield(newCachedRobots(i), err) {
				return
			}
		}
	}
}

func (c cacheOf) show(ctx context.Context, o policy.Origin) (cachedRobots, bool, error) {
	i, found, err := c.store.Info(ctx, o)
	return newCachedRobots(i), found, err
}

func (c cacheOf) refresh(ctx context.Context, o policy.Origin) (cachedRobots, error) {
	a, err := c.store.Refresh(ctx, o)
	if err != nil {
		return cachedRobots{}, err
	}
	if r, found, err := c.show(ctx, o); found && err == nil {
		return r, nil
	}
	return newCachedRobots(fetch.Info{Origin: o.String(), Where: "memory", Access: a}), nil
}

func (c cacheOf) forget(ctx context.Context, o policy.Origin) (bool, error) {
	_, found, err := c.store.Info(ctx, o)
	if err != nil || !found {
		return false, err
	}
	return true, c.store.Forget(ctx, o)
}
