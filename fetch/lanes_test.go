package fetch

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heed/policy"
)

// hanging is a transport to origins that never answer when their name begins
// with hang, after a while when it begins with slow, and else at once.
type hanging struct {
	slow time.Duration

	mu        sync.Mutex
	now, most int
	given     []time.Duration // how long each was tried that was given up before its time
}

func (h *hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	h.mu.Lock()
	h.now++
	h.most = max(h.most, h.now)
	h.mu.Unlock()
	start := time.Now()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.now--
		if took := time.Since(start); r.Context().Err() != nil && took < DefaultTimeout {
			h.given = append(h.given, took)
		}
	}()
	var wait <-chan time.Time
	switch name, _, _ := strings.Cut(r.URL.Host, "-"); name {
	case "slow":
		wait = time.After(h.slow)
	case "hang":
	default:
		wait = time.After(0)
	}
	select {
	case <-wait:
		return &http.Response{StatusCode: 404, Header: http.Header{}, Body: http.NoBody}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// Origins that hang, in whatever number and all at once, delay no other for
// long, and there is a bound on how many are asked at one time.
func TestOriginsThatHangDelayNoOther(t *testing.T) {
	const places = 100
	const bound = places * (1 + slowRatio)
	for _, n := range []int{places, 3 * places, 2 * bound, 5 * bound} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // what is measured here is its clock
				tr := &hanging{slow: (slowRatio - 1) * slowAfter}
				s := New(Options{MaxFetches: places, Transport: tr})
				var clients sync.WaitGroup
				ask := func(name string, i int, check func(policy.Access, time.Duration)) {
					clients.Go(func() {
						start := time.Now()
						a, err := s.Access(t.Context(), policy.Origin{Scheme: "http", Host: fmt.Sprintf("%s-%d.example", name, i), Port: 80})
						if err != nil {
							t.Error(err)
						}
						check(a, time.Since(start))
					})
				}
				for i := range n {
					ask("hang", i, func(a policy.Access, took time.Duration) {
						if a.Result != policy.Unreachable || n <= bound && took < DefaultTimeout || took > 2*DefaultTimeout {
							t.Errorf("an origin that hangs: %+v after %v", a, took)
						}
					})
				}
				synctest.Wait()
				const most = 2 * slowAfter // they come last, and do not fill the quick lane
				for i := range places / 4 {
					ask("quick", i, func(a policy.Access, took time.Duration) {
						if a.Result != policy.Unavailable || took > most {
							t.Errorf("an origin that answers: %+v after %v, want within %v", a, took, most)
						}
					})
					ask("slow", i, func(a policy.Access, took time.Duration) {
						if a.Result != policy.Unavailable || took > most+tr.slow {
							t.Errorf("an origin that answers after %v: %+v after %v", tr.slow, a, took)
						}
					})
				}
				clients.Wait()
				s.Close()
				tr.check(t, n, bound)
			})
		})
	}
}

// check looks at what the transport saw of n origins that hang.
func (h *hanging) check(t *testing.T, n, bound int) {
	t.Helper()
	if h.most > bound {
		t.Errorf("%d were asked at one time, want at most %d", h.most, bound)
	}
	if n <= bound && len(h.given) > 0 || n > bound && len(h.given) == 0 {
		t.Errorf("%d of %d were given up", len(h.given), n)
	}
	for _, took := range h.given {
		if took < slowRatio*slowAfter {
			t.Errorf("one was given up after %v, want no sooner than %v", took, slowRatio*slowAfter)
		}
	}
	t.Logf("%d hang: at most %d asked at one time, %d given up", n, h.most, len(h.given))
}

// One that was given up is unreachable, says why, and is asked again in its
// time; while its own copy is there, that rules.
func TestGivenUpIsUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{MaxFetches: 1, Transport: new(hanging)})
		defer s.Close()
		var clients sync.WaitGroup
		var mu sync.Mutex
		causes := map[string]int{}
		for i := range 1 + slowRatio + 10 {
			clients.Go(func() {
				a, err := s.Access(t.Context(), policy.Origin{Scheme: "http", Host: fmt.Sprintf("hang-%d.example", i), Port: 80})
				if err != nil || a.Result != policy.Unreachable || a.Retry.Before(time.Now()) {
					t.Errorf("got %+v, %v", a, err)
				}
				mu.Lock()
				defer mu.Unlock()
				causes[a.Cause]++
			})
		}
		clients.Wait()
		if causes[errGivenUp.Error()] != 10 || len(causes) != 2 {
			t.Errorf("causes %v, want 10 given up", causes)
		}
	})
}
