package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"heed/internal/netguard"
	"heed/policy"
)

// What a response body that is not wanted may cost to read to its end, which
// lets its connection be used again.
const (
	drainSize = 16 << 10
	drainTime = 200 * time.Millisecond
)

// fetch asks for o's robots.txt and follows redirects until there is a result,
// which belongs to o wherever it was found (RFC 9309 2.3.1.2).
func (s *Store) fetch(ctx context.Context, o policy.Origin) policy.Access {
	a := policy.Access{URL: o.RobotsURL()}
	asked := []string{a.URL}
	for {
		next, err := s.hop(ctx, asked[len(asked)-1], &a)
		switch {
		case err != nil:
			var denied *netguard.DeniedError
			a.EgressDenied = len(asked) == 1 && errors.As(err, &denied)
			a.Cause = cause(ctx, err)
			return a
		case next == "":
			return a
		case slices.Contains(asked, next):
			a.Cause = "redirects in a loop"
			return a
		case len(asked) > s.options.MaxRedirects:
			a.Cause = fmt.Sprintf("more than %d redirects", s.options.MaxRedirects)
			return a
		}
		asked = append(asked, next)
		a.FinalURL = next
	}
}

// hop asks for url and notes the answer in a. It returns the target of a
// redirect, or "" when a is settled. An error makes it unreachable.
func (s *Store) hop(ctx context.Context, url string, a *policy.Access) (next string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", errors.New("not a URL that can be asked for")
	}
	// Nothing of a client's goes along: the file is for all of them.
	req.Header = http.Header{
		"User-Agent":      {s.options.UserAgent},
		"Accept":          {"text/plain, */*;q=0.8"},
		"Accept-Encoding": {"gzip"},
	}
	resp, err := s.options.Transport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	a.Status, a.Retrieved = resp.StatusCode, time.Now()

	switch result := resultOf(resp.StatusCode); {
	case result == policy.Successful:
		return "", s.parse(resp, a)
	case isRedirect(resp.StatusCode):
		next, err = location(req.URL, resp.Header)
		drain(resp.Body, cancel)
		return next, err
	default:
		a.Result, a.Cause = result, status(resp.StatusCode)
		drain(resp.Body, cancel)
		return "", nil
	}
}

// parse reads the file and its rules. a becomes successful last of all.
func (s *Store) parse(resp *http.Response, a *policy.Access) error {
	body, cut, err := readBody(resp, s.options.MaxSize)
	if err != nil {
		return err
	}
	if cut {
		s.options.Log.Warn("robots.txt cut at the size limit", "url", a.URL, "max_size", s.options.MaxSize)
	}
	sum := sha256.Sum256(body)
	a.SHA256 = hex.EncodeToString(sum[:])
	a.Robots = policy.Parse(body)
	a.Result = policy.Successful
	return nil
}

// drain reads what is left of a small body. One that takes its time is
// abandoned: it must not use up the time that the next hop needs.
func drain(body io.Reader, cancel context.CancelFunc) {
	timer := time.AfterFunc(drainTime, cancel)
	defer timer.Stop()
	// Whether it worked only matters to the connection.
	_, _ = io.CopyN(io.Discard, body, drainSize)
}
