package fetch_test

import (
	"net/http"
	"sync"
	"testing"

	"heed/fetch"
	"heed/policy"
)

// told is what OnFile was told of.
type told struct {
	mu   sync.Mutex
	sums []string
}

func (f *told) options(t *testing.T) func(*fetch.Options) {
	return func(o *fetch.Options) {
		o.OnFile = func(_ policy.Origin, a policy.Access, body []byte) {
			if digest(string(body)) != a.SHA256 || a.URL == "" || a.Retrieved.IsZero() {
				t.Errorf("told of %q as %+v", body, a)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			f.sums = append(f.sums, a.SHA256)
		}
	}
}

func (f *told) want(t *testing.T, when string, sums ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.sums) != len(sums) {
		t.Fatalf("%s: told of %d files, want %d", when, len(f.sums), len(sums))
	}
	for i, sum := range sums {
		if f.sums[i] != sum {
			t.Errorf("%s: file %d is %s, want %s", when, i, f.sums[i], sum)
		}
	}
}

func TestEachFileIsToldOfBeforeItRules(t *testing.T) {
	b := newBackend()
	var status int
	o := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if status != 0 {
			w.WriteHeader(status)
			return
		}
		conditional(`"1"`, first)(w, r)
	})
	var f, g told
	one := newStore(t, func(x *fetch.Options) { x.Backend = b; f.options(t)(x) })
	access(t, one, o)
	f.want(t, "fetched", digest(first))
	access(t, one, o)
	f.want(t, "in memory", digest(first))
	if _, err := one.Refresh(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	f.want(t, "not modified", digest(first), digest(first))
	one.Close()
	two := newStore(t, func(x *fetch.Options) { x.Backend = b; g.options(t)(x) })
	access(t, two, o)
	g.want(t, "from the backend", digest(first))
	for _, status = range []int{500, 404} {
		if _, err := two.Refresh(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		g.want(t, "no file", digest(first))
	}
}
