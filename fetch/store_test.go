package fetch_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heed/fetch"
	"heed/policy"
)

func TestManyCallersShareOneFetch(t *testing.T) {
	const callers = 200
	var fetches, lookups atomic.Int64
	release := make(chan struct{})
	o := serve(t, func(http.ResponseWriter, *http.Request) {
		fetches.Add(1)
		<-release
	})
	s := newStore(t, func(f *fetch.Options) {
		f.OnLookup = func(hit bool) {
			if !hit && lookups.Add(1) == callers {
				close(release)
			}
		}
	})
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			if a, err := s.Access(t.Context(), o); err != nil || a.Result != policy.Successful {
				t.Errorf("got %+v, %v; want successful", a, err)
			}
		})
	}
	wg.Wait()
	if got := fetches.Load(); got != 1 {
		t.Errorf("%d fetches for %d callers, want 1", got, callers)
	}
}

func TestCallerWhoMissedALandedFetchStartsNoOther(t *testing.T) {
	var fetches, lookups atomic.Int64
	missed, landed := make(chan struct{}), make(chan struct{})
	s := newStore(t, func(f *fetch.Options) {
		f.Transport = roundTripper(func(*http.Request) (*http.Response, error) {
			fetches.Add(1)
			return answer(200), nil
		})
		f.OnLookup = func(bool) {
			if lookups.Add(1) == 1 { // held up between its look into memory and the fetch
				close(missed)
				<-landed
			}
		}
	})
	o := named("site.example")
	late := make(chan policy.Access)
	go func() {
		a, _ := s.Access(context.Background(), o)
		late <- a
	}()
	<-missed
	access(t, s, o)
	close(landed)
	if a := <-late; a.Result != policy.Successful || fetches.Load() != 1 {
		t.Errorf("got %+v after %d fetches, want successful after 1", a, fetches.Load())
	}
}

func TestCallerLeavesWithoutTheFetch(t *testing.T) {
	release := make(chan struct{})
	asked := make(chan struct{})
	o := serve(t, func(http.ResponseWriter, *http.Request) {
		close(asked) // a second request would panic
		<-release
	})
	s := newStore(t, nil)

	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		a, err := s.Access(ctx, o)
		if a.Result != policy.Unreachable {
			t.Errorf("got %+v beside the error, want the zero value", a)
		}
		left <- err
	}()
	<-asked
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	close(release)
	if a := access(t, s, o); a.Result != policy.Successful {
		t.Errorf("after the first caller left: got %+v, want successful", a)
	}
	if _, err := s.Access(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that comes too late: error %v, want %v", err, context.Canceled)
	}
}

func TestSlowOriginDelaysNoOther(t *testing.T) {
	release := make(chan struct{})
	asked := make(chan struct{})
	slow := serve(t, func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-release
	})
	quick := serve(t, func(http.ResponseWriter, *http.Request) {})
	s := newStore(t, nil)
	done := make(chan policy.Access)
	go func() {
		a, _ := s.Access(context.Background(), slow)
		done <- a
	}()
	<-asked
	if a := access(t, s, quick); a.Result != policy.Successful {
		t.Errorf("quick origin: got %+v, want successful", a)
	}
	select {
	case a := <-done:
		t.Errorf("slow origin answered %+v before its file was there", a)
	default:
	}
	close(release)
	if a := <-done; a.Result != policy.Successful {
		t.Errorf("slow origin: got %+v, want successful", a)
	}
}

func TestCloseEndsFetches(t *testing.T) {
	asked := make(chan struct{})
	o := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})
	s := newStore(t, nil)
	done := make(chan policy.Access)
	go func() {
		a, _ := s.Access(context.Background(), o)
		done <- a
	}()
	<-asked
	s.Close()
	s.Close()
	if a := <-done; a.Result != policy.Unreachable {
		t.Errorf("got %+v, want unreachable", a)
	}
	if _, err := s.Access(t.Context(), named("other.example")); !errors.Is(err, fetch.ErrClosed) {
		t.Errorf("error %v, want %v", err, fetch.ErrClosed)
	}
}

func TestPanicIsUnreachable(t *testing.T) {
	s := newStore(t, func(f *fetch.Options) {
		f.Transport = roundTripper(func(*http.Request) (*http.Response, error) { panic("fault") })
	})
	if a := access(t, s, named("site.example")); a.Result != policy.Unreachable || a.URL != "https://site.example/robots.txt" {
		t.Errorf("got %+v, want unreachable", a)
	}
}

func TestResultsAreKeptForTheirTime(t *testing.T) {
	cases := []struct {
		status int
		ttl    time.Duration
	}{
		{200, fetch.DefaultTTL},
		{404, fetch.DefaultTTL},
		{503, fetch.DefaultErrorTTL},
	}
	for _, c := range cases {
		t.Run(http.StatusText(c.status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var results []policy.Result
				var hits []bool
				s := fetch.New(fetch.Options{
					Transport: roundTripper(func(*http.Request) (*http.Response, error) { return answer(c.status), nil }),
					OnFetch:   func(r policy.Result) { results = append(results, r) },
					OnLookup:  func(hit bool) { hits = append(hits, hit) },
				})
				defer s.Close()
				o := named("site.example")
				first := access(t, s, o)
				if want := time.Now().Add(c.ttl); first.Result == policy.Unreachable && !first.Retry.Equal(want) {
					t.Errorf("Retry %v, want %v", first.Retry, want)
				}
				time.Sleep(c.ttl - time.Second)
				access(t, s, o)
				if len(results) != 1 {
					t.Errorf("%d fetches before %v, want 1", len(results), c.ttl)
				}
				time.Sleep(2 * time.Second)
				access(t, s, o)
				if len(results) != 2 || results[0] != first.Result || results[1] != first.Result {
					t.Errorf("fetches after %v: %v, want two of %s", c.ttl, results, first.Result)
				}
				if len(hits) != 3 || hits[0] || !hits[1] || hits[2] {
					t.Errorf("lookups %v, want miss, hit, miss", hits)
				}
			})
		})
	}
}
