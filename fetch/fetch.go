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

// An outcome is what came of asking for a robots.txt once. Its access has no
// Robots and no Retry.
type outcome struct {
	access      policy.Access
	file        *file // of a successful one, unless notModified
	notModified bool  // the copy at hand holds
	validators
	freshness
	retryAfter time.Duration // asked for by an unreachable one; 0 when it said nothing
}

// ask asks for o's robots.txt and follows redirects until there is a result,
// which belongs to o wherever it was found (RFC 9309 2.3.1.2). Where a copy is
// at hand, prev says so, and it is asked whether that still holds.
func (s *Store) ask(ctx context.Context, o policy.Origin, prev *known) outcome {
	out := outcome{access: policy.Access{URL: o.RobotsURL()}}
	a := &out.access
	asked := []string{a.URL}
	for {
		url := asked[len(asked)-1]
		next, err := s.hop(ctx, url, prev.validatorsFor(url), &out)
		if errors.Is(err, errOtherCopy) {
			prev = nil
			next, err = s.hop(ctx, url, validators{}, &out)
		}
		switch {
		case err != nil:
			var denied *netguard.DeniedError
			a.EgressDenied = len(asked) == 1 && errors.As(err, &denied)
			a.Own = a.EgressDenied && denied.Own
			a.Cause = cause(ctx, err)
			return out
		case next == "":
			return out
		case slices.Contains(asked, next):
			a.Cause = "redirects in a loop"
			return out
		case len(asked) > s.options.MaxRedirects:
			a.Cause = fmt.Sprintf("more than %d redirects", s.options.MaxRedirects)
			return out
		}
		asked = append(asked, next)
		a.FinalURL = next
	}
}

// hop asks for url and notes the answer in out. It returns the target of a
// redirect, or "" when out is settled. An error makes it unreachable.
func (s *Store) hop(ctx context.Context, url string, v validators, out *outcome) (next string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", errors.New("not a URL that can be asked for")
	}
	// Nothing of a client's goes along: the file is for all of them.
	req.Header = http.Header{
		"User-Agent":      {*s.agent.Load()},
		"Accept":          {"text/plain, */*;q=0.8"},
		"Accept-Encoding": {acceptEncoding},
	}
	v.ask(req.Header)
	sent := time.Now()
	resp, err := s.options.Transport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	a := &out.access
	a.Status, a.Retrieved = resp.StatusCode, time.Now()
	f := freshnessOf(resp.Header, sent, a.Retrieved)

	switch result := resultOf(resp.StatusCode); {
	case result == policy.Successful:
		out.freshness = out.freshness.and(f)
		out.validators = validatorsOf(resp.Header)
		return "", s.read(resp, out)
	case resp.StatusCode == http.StatusNotModified && v.any():
		out.freshness = out.freshness.and(f)
		return "", s.renew(resp.Header, v, out)
	case isRedirect(resp.StatusCode):
		out.freshness = out.freshness.and(f)
		next, err = location(req.URL, resp.Header)
		drain(resp.Body, cancel)
		return next, err
	default:
		out.freshness = out.freshness.and(f)
		a.Result, a.Cause = result, status(resp.StatusCode)
		if result == policy.Unreachable {
			out.retryAfter = retryAfter(resp.Header, a.Retrieved)
		}
		drain(resp.Body, cancel)
		return "", nil
	}
}

// read reads the file. out becomes successful last of all.
func (s *Store) read(resp *http.Response, out *outcome) error {
	body, cut, err := readBody(resp, s.options.MaxSize)
	if err != nil {
		return err
	}
	a := &out.access
	if cut {
		s.options.Log.Warn("robots.txt cut at the size limit", "url", a.URL, "max_size", s.options.MaxSize)
	}
	a.MediaType = MediaType(resp.Header)
	sum := sha256.Sum256(body)
	a.SHA256 = hex.EncodeToString(sum[:])
	out.file = newFile(a.SHA256, body)
	if what := out.file.foreign; what != "" {
		s.options.Log.Warn("robots.txt is something else: it has no rules", "url", a.URL, "not_robots", what)
	}
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
