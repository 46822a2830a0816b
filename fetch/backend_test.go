package fetch_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"heed/fetch"
	"heed/policy"
)

// backend is a fetch.Backend in memory that fails when it is told to.
type backend struct {
	mu      sync.Mutex
	entries map[string][]byte
	bodies  map[string][]byte
	calls   int
	fail    func(context.Context) error // before each call; nil: it works
}

func newBackend() *backend {
	return &backend{entries: map[string][]byte{}, bodies: map[string][]byte{}}
}

func (b *backend) call(ctx context.Context) error {
	b.mu.Lock()
	b.calls++
	fail := b.fail
	b.mu.Unlock()
	if fail != nil {
		return fail(ctx)
	}
	return nil
}

func (b *backend) set(fail func(context.Context) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = fail
}

func (b *backend) Load(ctx context.Context, origin string) (fetch.Entry, error) {
	if err := b.call(ctx); err != nil {
		return fetch.Entry{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.entries[origin]
	if !ok {
		return fetch.Entry{}, fetch.ErrNotStored
	}
	return fetch.DecodeEntry(data)
}

func (b *backend) Body(ctx context.Context, sha256 string) ([]byte, error) {
	if err := b.call(ctx); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	body, ok := b.bodies[sha256]
	if !ok {
		return nil, fetch.ErrNotStored
	}
	return body, nil
}

func (b *backend) Save(ctx context.Context, e fetch.Entry, body []byte) error {
	if err := b.call(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries[e.Origin] = e.Encode()
	if e.SHA256 != "" {
		b.bodies[e.SHA256] = body
	}
	return nil
}

func (b *backend) Delete(ctx context.Context, origin string) error {
	if err := b.call(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.entries, origin)
	return nil
}

func (b *backend) Entries(context.Context) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, data := range b.entries {
			if e, err := fetch.DecodeEntry(data); err == nil && !yield(e, nil) {
				return
			}
		}
	}
}

// counted counts what a Store asks an origin, and how its lookups ended.
type counted struct {
	asked   atomic.Int64
	lookups [4]atomic.Int64
}

func (c *counted) options(f *fetch.Options) {
	f.OnLookup = func(l fetch.Lookup) { c.lookups[l].Add(1) }
}

func TestBackendIsAskedBeforeTheOrigin(t *testing.T) {
	var c counted
	o := serve(t, func(w http.ResponseWriter, r *http.Request) {
		c.asked.Add(1)
		conditional(`"1"`, first)(w, r)
	})
	b := newBackend()
	one := newStore(t, func(f *fetch.Options) { f.Backend = b })
	access(t, one, o)
	one.Close()
	two := newStore(t, func(f *fetch.Options) { f.Backend = b; c.options(f) })
	a := access(t, two, o)
	if a.SHA256 != digest(first) || a.Stale || a.URL != o.RobotsURL() || c.asked.Load() != 1 || c.lookups[fetch.Stored].Load() != 1 {
		t.Errorf("got %+v after %d fetches, want the stored copy after 1", a, c.asked.Load())
	}
	access(t, two, o)
	if c.lookups[fetch.Hit].Load() != 1 || c.asked.Load() != 1 {
		t.Error("the second lookup was no hit")
	}
	if d := a.Robots.Decide([]string{"bot"}, policy.Target{Origin: o, Path: "/first"}); d.Allowed() {
		t.Errorf("the stored rules: %+v", d)
	}
}

func TestStoredTroubleIsKnownToo(t *testing.T) {
	var c counted
	o := serve(t, func(w http.ResponseWriter, r *http.Request) {
		c.asked.Add(1)
		w.WriteHeader(503)
	})
	b := newBackend()
	one := newStore(t, func(f *fetch.Options) { f.Backend = b })
	access(t, one, o)
	one.Close()
	a := access(t, newStore(t, func(f *fetch.Options) { f.Backend = b }), o)
	if a.Result != policy.Unreachable || a.Status != 503 || c.asked.Load() != 1 || time.Until(a.Retry) > 40*time.Second {
		t.Errorf("got %+v after %d fetches, want unreachable after 1", a, c.asked.Load())
	}
}

func TestWhatMustNotBeStoredIsNot(t *testing.T) {
	b := newBackend()
	o := serve(t, reply(200, first, "Cache-Control: no-store"))
	s := newStore(t, func(f *fetch.Options) { f.Backend = b })
	access(t, s, o)
	s.Close()
	if len(b.entries) != 0 || len(b.bodies) != 0 {
		t.Errorf("stored: %q", b.entries)
	}
}

// Which addresses may be dialled is up to each process, and to each start.
func TestDeniedAddressesAreNotStored(t *testing.T) {
	o := serve(t, reply(200, first))
	b := newBackend()
	denied := newStore(t, func(f *fetch.Options) { f.Backend = b; f.Transport = transport(t, nil) })
	if a := access(t, denied, o); !a.EgressDenied {
		t.Errorf("got %+v, want egress denied", a)
	}
	denied.Close()
	if a := access(t, newStore(t, func(f *fetch.Options) { f.Backend = b }), o); a.Result != policy.Successful {
		t.Errorf("where it may be dialled: got %+v", a)
	}
}

// A stored copy that cannot be trusted is fetched again.
func TestSpoiltStoredCopiesAreMisses(t *testing.T) {
	spoil := map[string]func(*backend, string){
		"another body":   func(b *backend, sum string) { b.bodies[sum] = []byte("User-agent: *\nAllow: /\n") },
		"no body":        func(b *backend, sum string) { delete(b.bodies, sum) },
		"another format": func(b *backend, _ string) { each(b, `"v":1`, `"v":2`) },
		"from the far future": func(b *backend, _ string) {
			each(b, `"retrieved":`, `"retrieved":9`)
		},
	}
	for name, f := range spoil {
		t.Run(name, func(t *testing.T) {
			var c counted
			o := serve(t, func(w http.ResponseWriter, r *http.Request) {
				c.asked.Add(1)
				reply(200, first)(w, r)
			})
			b := newBackend()
			one := newStore(t, func(f *fetch.Options) { f.Backend = b })
			access(t, one, o)
			one.Close()
			f(b, digest(first))
			a := access(t, newStore(t, func(f *fetch.Options) { f.Backend = b }), o)
			if a.SHA256 != digest(first) || c.asked.Load() != 2 {
				t.Errorf("got %+v after %d fetches, want it fetched again", a, c.asked.Load())
			}
		})
	}
}

func each(b *backend, from, to string) {
	for k, v := range b.entries {
		b.entries[k] = []byte(strings.Replace(string(v), from, to, 1))
	}
}

// However the backend fails: nobody waits longer than its time-out, the verdict
// is the origin's, failures are counted, and it is tried again by itself.
func TestBackendThatFailsIsDoneWithout(t *testing.T) {
	const timeout = 200 * time.Millisecond
	failures := map[string]func(context.Context) error{
		"error": func(context.Context) error { return errors.New("no") },
		"hangs": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"hangs on and on": func(context.Context) error {
			time.Sleep(10 * timeout)
			return nil
		},
		"panics": func(context.Context) error { panic("fault") },
	}
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := serve(t, reply(200, first))
			other := serve(t, reply(404, ""))
			b := newBackend()
			b.set(fail)
			s := newStore(t, func(f *fetch.Options) { f.Backend = b; f.StoreTimeout = timeout })
			start := time.Now()
			a := access(t, s, o)
			if took := time.Since(start); a.Result != policy.Successful || took > timeout+time.Second {
				t.Errorf("got %+v after %v", a, took)
			}
			if s.StoreErrors() == 0 || s.Healthy() == nil {
				t.Errorf("%d store errors, healthy: %v", s.StoreErrors(), s.Healthy())
			}
			start, errs := time.Now(), s.StoreErrors()
			if a := access(t, s, other); a.Result != policy.Unavailable || time.Since(start) > timeout+time.Second {
				t.Errorf("got %+v after %v: the backend is to be left alone", a, time.Since(start))
			}
			if s.StoreErrors() != errs && name == "error" {
				t.Errorf("%d store errors more", s.StoreErrors()-errs)
			}
			b.set(nil)
			for deadline := time.Now().Add(10 * time.Second); s.Healthy() != nil && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
				access(t, s, serve(t, reply(200, first)))
			}
			if s.Healthy() != nil {
				t.Errorf("it works again, and is not used: %v", s.Healthy())
			}
		})
	}
}

// A copy near its end is refreshed once, however many use it, and nobody waits.
func TestOneRefreshAtATime(t *testing.T) {
	var c counted
	release := make(chan struct{})
	o := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if c.asked.Add(1) > 1 {
			<-release
		}
		reply(200, first, "Cache-Control: max-age=2")(w, r)
	})
	s := newStore(t, func(f *fetch.Options) { f.MinTTL = 2 * time.Second; c.options(f) })
	access(t, s, o)
	time.Sleep(1900 * time.Millisecond) // in the last tenth
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 100 {
				start := time.Now()
				if a := access(t, s, o); a.Result != policy.Successful || time.Since(start) > time.Second {
					t.Errorf("got %+v after %v", a, time.Since(start))
				}
			}
		})
	}
	wg.Wait()
	time.Sleep(1200 * time.Millisecond) // and still used when the refresh takes longer
	if a := access(t, s, o); !a.Stale {
		t.Errorf("past its end: got %+v, want it marked stale", a)
	}
	if n := c.asked.Load(); n != 2 {
		t.Errorf("the origin was asked %d times, want 2", n)
	}
	close(release)
	for s.Waiting(o) > 0 || c.lookups[fetch.Stale].Load() == 0 {
		time.Sleep(time.Millisecond)
	}
}

func TestInfoRefreshForget(t *testing.T) {
	var c counted
	o := serve(t, func(w http.ResponseWriter, r *http.Request) {
		c.asked.Add(1)
		reply(200, first, "Cache-Control: max-age=3600")(w, r)
	})
	b := newBackend()
	s := newStore(t, func(f *fetch.Options) { f.Backend = b })
	if _, found, err := s.Info(t.Context(), o); found || err != nil {
		t.Errorf("nothing asked yet: %v, %v", found, err)
	}
	access(t, s, o)
	i, found, err := s.Info(t.Context(), o)
	if err != nil || !found || i.Origin != o.String() || i.Where != "memory" || i.Size != len(first) || time.Until(i.Fresh) > time.Hour || i.Access.SHA256 != digest(first) {
		t.Errorf("got %+v, %v, %v", i, found, err)
	}
	if a, err := s.Refresh(t.Context(), o); err != nil || a.Result != policy.Successful || c.asked.Load() != 2 {
		t.Errorf("refresh: %+v, %v after %d fetches, want 2", a, err, c.asked.Load())
	}
	s.Close()
	two := newStore(t, func(f *fetch.Options) { f.Backend = b })
	n := 0
	for i, err := range two.Infos(t.Context()) {
		if n++; err != nil || i.Where != "store" || i.Access.Result != policy.Successful {
			t.Errorf("got %+v, %v", i, err)
		}
	}
	if err := two.Forget(t.Context(), o); err != nil || n != 1 || len(b.entries) != 0 {
		t.Errorf("%d infos; forget: %v, %d entries left", n, err, len(b.entries))
	}
	if access(t, two, o); c.asked.Load() != 3 {
		t.Errorf("%d fetches, want another after it was forgotten", c.asked.Load())
	}
}
