package fetch_test

import (
	"errors"
	"net/http"
	"testing"

	"heed/fetch"
	"heed/policy"
)

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Failures are forgotten on demand, and nothing else is; the User-Agent changes for
// what is asked for later.
func TestForgetFailures(t *testing.T) {
	asked := map[string]string{}
	s := fetch.New(fetch.Options{UserAgent: "before", Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
		asked[r.URL.Host] += r.UserAgent() + " "
		if r.URL.Host == "bad.example" {
			return nil, errors.New("no way")
		}
		return &http.Response{StatusCode: 404, Body: http.NoBody, Request: r}, nil
	})})
	defer s.Close()
	for _, agent := range []string{"before", "between", "after"} {
		s.SetUserAgent(agent)
		for _, host := range []string{"bad.example", "good.example"} {
			o, err := policy.ParseOrigin("https", host)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Access(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		if agent == "between" {
			s.ForgetFailures()
		}
	}
	if asked["bad.example"] != "before after " || asked["good.example"] != "before " {
		t.Errorf("asked: %q", asked)
	}
}
