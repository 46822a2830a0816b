package fetch_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"heed/fetch"
	"heed/policy"
)

func TestManyCallersShareOneFetch(t *testing.T) {
	const callers = 200
	var fetches, misses atomic.Int64
	release := make(chan struct{})
	o := serve(t, func(http.ResponseWriter, *http.Request) {
		fetches.Add(1)
		<-release
	})
	s := newStore(t, func(f *fetch.Options) {
		f.OnLookup = func(l fetch.Lookup) {
			if l == fetch.Miss {
				misses.Add(1)
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
	for s.Waiting(o) < callers {
		time.Sleep(time.Millisecond)
	}
	close(release)
	wg.Wait()
	if got := fetches.Load(); got != 1 || misses.Load() != callers {
		t.Errorf("%d fetches and %d misses for %d callers, want 1 and all", got, misses.Load(), callers)
	}
}

func TestRequestsThatWaitAreBounded(t *testing.T) {
	const most = 10
	release := make(chan struct{})
	o := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	s := newStore(t, func(f *fetch.Options) { f.MaxWaiting = most })
	var wg sync.WaitGroup
	for range most {
		wg.Go(func() {
			if a := access(t, s, o); a.Result != policy.Successful {
				t.Errorf("a caller within the bound got %+v", a)
			}
		})
	}
	for s.Waiting(o) < most {
		time.Sleep(time.Millisecond)
	}
	if a := access(t, s, o); a.Result != policy.Unreachable || !strings.Contains(a.Cause, "too many requests wait") {
		t.Errorf("the caller beyond the bound got %+v", a)
	}
	close(release)
	wg.Wait()
	if a := access(t, s, o); a.Result != policy.Successful {
		t.Errorf("afterwards: %+v", a)
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
