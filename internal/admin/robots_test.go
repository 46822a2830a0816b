package admin

import (
	"context"
	"errors"
	"iter"
	"testing"

	"heed/policy"
)

type entry struct {
	Origin string `json:"origin"`
}

// robots knows one origin and notes what is done to it.
func robots(done *[]string) Robots {
	const known = "https://a.example"
	return Robots{
		List: func(context.Context) iter.Seq2[any, error] {
			return func(yield func(any, error) bool) {
				_ = yield(entry{known}, nil) && yield(entry{"https://b.example"}, nil)
			}
		},
		Show: func(_ context.Context, o policy.Origin) (any, bool, error) {
			return entry{o.String()}, o.String() == known, nil
		},
		Refresh: func(_ context.Context, o policy.Origin) (any, error) {
			*done = append(*done, "refresh "+o.String())
			return entry{o.String()}, nil
		},
		Forget: func(_ context.Context, o policy.Origin) error {
			*done = append(*done, "forget "+o.String())
			return nil
		},
	}
}

func TestRobotsAPI(t *testing.T) {
	const a = `{"origin":"https://a.example"}` + "\n"
	token := map[string]string{"Authorization": "Bearer s3cret"}
	tests := []struct {
		name, method, path, token string
		header                    map[string]string
		status                    int
		body, done                string
	}{
		{"the list, one a line", "GET", "/api/robots", "", nil, 200, a + `{"origin":"https://b.example"}` + "\n", ""},
		{"one", "GET", "/api/robots?origin=https://A.example/page", "", nil, 200, a, ""},
		{"an unknown one", "GET", "/api/robots?origin=http://a.example", "", nil, 404, "nothing is remembered of http://a.example\n", ""},
		{"no origin", "GET", "/api/robots?origin=a.example", "", nil, 400, "origin: not an absolute URL: it must start with http:// or https://\n", ""},
		{"the list asks for the token that is set", "GET", "/api/robots", "s3cret", nil, 401, "Send the value of admin.token: Authorization: Bearer TOKEN\n", ""},
		{"a change without a token set", "POST", "/api/robots/refresh?origin=https://a.example", "", nil, 403, "Nothing can be changed here while admin.token is not set.\n", ""},
		{"a change without the token", "POST", "/api/robots/forget?origin=https://a.example", "s3cret", nil, 401, "Send the value of admin.token: Authorization: Bearer TOKEN\n", ""},
		{"refresh", "POST", "/api/robots/refresh?origin=https://a.example", "s3cret", token, 200, a, "refresh https://a.example"},
		{"forget", "POST", "/api/robots/forget?origin=https://a.example", "s3cret", token, 200, a, "forget https://a.example"},
		{"a change is no GET", "GET", "/api/robots/forget?origin=https://a.example", "s3cret", token, 405, "Method Not Allowed\n", ""},
		{"a foreign page", "POST", "/api/robots/forget?origin=https://a.example", "s3cret",
			map[string]string{"Authorization": "Bearer s3cret", "Origin": "https://evil.example"}, 403, "This Origin is not heed's. Other sites may not ask the admin listener.\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var done []string
			got := ask(t, Options{Listen: loopbackAddr, Token: tt.token, Robots: robots(&done)}, tt.method, tt.path, tt.header)
			if got.status != tt.status || got.body != tt.body {
				t.Errorf("got %d %q, want %d %q", got.status, got.body, tt.status, tt.body)
			}
			if (tt.done == "") != (len(done) == 0) || len(done) == 1 && done[0] != tt.done {
				t.Errorf("done: %q, want %q", done, tt.done)
			}
		})
	}
	if got := ask(t, Options{Listen: loopbackAddr}, "GET", "/api/robots", nil); got.status != 404 {
		t.Errorf("without a cache: %d, want 404", got.status)
	}
}

func TestRobotsAPIFailures(t *testing.T) {
	broken := errors.New("the store does not answer")
	r := Robots{
		List: func(context.Context) iter.Seq2[any, error] {
			return func(yield func(any, error) bool) { yield(nil, broken) }
		},
		Show: func(context.Context, policy.Origin) (any, bool, error) { return nil, false, broken },
	}
	o := Options{Listen: loopbackAddr, Robots: r}
	if got := ask(t, o, "GET", "/api/robots?origin=https://a.example", nil); got.status != 503 || got.body != broken.Error()+"\n" {
		t.Errorf("one: %d %q", got.status, got.body)
	}
	if got := ask(t, o, "GET", "/api/robots", nil); got.status != 503 || got.body != broken.Error()+"\n" {
		t.Errorf("a list that cannot begin: %d %q", got.status, got.body)
	}
}
