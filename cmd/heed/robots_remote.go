package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"heed/policy"
)

// remoteCache is the cache of a running heed, asked at its admin listener.
type remoteCache struct{ addr, token string }

// ask sends one request. The caller closes the body.
func (c remoteCache) ask(ctx context.Context, method, path string, o *policy.Origin) (*http.Response, error) {
	u := url.URL{Scheme: "http", Host: c.addr, Path: path}
	if o != nil {
		u.RawQuery = url.Values{"origin": {o.String()}}.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, usage("an address is host:port", "admin listener %q: %v", c.addr, err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	// The environment may name a proxy, perhaps this very heed.
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return nil, &failure{exitUnknown, fmt.Errorf("no answer from %s: %w", c.addr, err),
			"is heed running, and is admin.listen this address? --store looks into a store directly"}
	}
	if res.StatusCode == http.StatusOK || res.StatusCode == http.StatusNotFound && o != nil {
		return res, nil
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10)) // what there is of it
	err = fmt.Errorf("%s: %s: %s", c.addr, res.Status, strings.TrimSpace(string(text)))
	switch res.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, usage("set admin.token for that heed, and give the same here (HEED_ADMIN_TOKEN)", "%w", err)
	}
	return nil, &failure{exitUnknown, err, ""}
}

func (c remoteCache) list(ctx context.Context) iter.Seq2[cachedRobots, error] {
	return func(yield func(cachedRobots, error) bool) {
		res, err := c.ask(ctx, http.MethodGet, "/api/robots", nil)
		if err != nil {
			yield(cachedRobots{}, err)
			return
		}
		defer res.Body.Close()
		in := json.NewDecoder(bufio.NewReader(res.Body))
		for {
			var r cachedRobots
			err := in.Decode(&r)
			if err == io.EOF {
				return
			}
			if err != nil {
				err = &failure{exitUnknown, fmt.Errorf("answer from %s: %w", c.addr, err), ""}
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// one asks about one origin, which may be one that nothing is remembered of.
func (c remoteCache) one(ctx context.Context, method, path string, o policy.Origin) (r cachedRobots, found bool, err error) {
	res, err := c.ask(ctx, method, path, &o)
	if err != nil {
		return r, false, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNotFound {
		return r, false, nil
	}
	if err := json.NewDecoder(res.Body).Decode(&r); err != nil {
		return r, false, &failure{exitUnknown, fmt.Errorf("answer from %s: %w", c.addr, err), ""}
	}
	return r, true, nil
}

func (c remoteCache) show(ctx context.Context, o policy.Origin) (cachedRobots, bool, error) {
	return c.one(ctx, http.MethodGet, "/api/robots", o)
}

func (c remoteCache) refresh(ctx context.Context, o policy.Origin) (cachedRobots, error) {
	r, found, err := c.one(ctx, http.MethodPost, "/api/robots/refresh", o)
	if err == nil && !found {
		err = &failure{exitUnknown, fmt.Errorf("%s has no robots.txt cache to ask", c.addr), "is it an older heed?"}
	}
	return r, err
}

func (c remoteCache) forget(ctx context.Context, o policy.Origin) (bool, error) {
	_, found, err := c.one(ctx, http.MethodPost, "/api/robots/forget", o)
	return found, err
}
