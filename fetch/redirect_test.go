package fetch_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"heed/fetch"
	"heed/policy"
)

func TestRedirectChain(t *testing.T) {
	// /robots.txt and /n lead on until n redirects have been answered.
	chain := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			i, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
			if i < n {
				http.Redirect(w, r, fmt.Sprintf("/%d", i+1), http.StatusFound)
			}
		}
	}
	cases := []struct {
		redirects, max int
		want           policy.Result
	}{
		{0, 0, policy.Successful},
		{1, 0, policy.Successful},
		{5, 0, policy.Successful},
		{6, 0, policy.Unreachable},
		{6, 6, policy.Successful},
		{7, 6, policy.Unreachable},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%d of at most %d", c.redirects, c.max), func(t *testing.T) {
			o := serve(t, chain(c.redirects))
			a := access(t, newStore(t, func(f *fetch.Options) { f.MaxRedirects = c.max }), o)
			if a.Result != c.want {
				t.Errorf("got %+v, want %s", a, c.want)
			}
			if want := fmt.Sprintf("%s/%d", o, c.redirects); a.Result == policy.Successful && c.redirects > 0 && a.FinalURL != want {
				t.Errorf("FinalURL %q, want %q", a.FinalURL, want)
			}
		})
	}
}

func TestRedirectTarget(t *testing.T) {
	other := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, file) })
	cases := []struct {
		name, location string
		status         int
		final          string // "" when it is not followed; %s is the origin
	}{
		{"301", "/there", 301, "%s/there"},
		{"302", "/there", 302, "%s/there"},
		{"303", "/there", 303, "%s/there"},
		{"307", "/there", 307, "%s/there"},
		{"308", "/there", 308, "%s/there"},
		{"300 is no redirect", "/there", 300, ""},
		{"305 is no redirect", "/there", 305, ""},
		{"relative path", "there", 302, "%s/there"},
		{"query", "/there?a=b", 302, "%s/there?a=b"},
		{"fragment is dropped", "/there#part", 302, "%s/there"},
		{"other authority", other.String() + "/there", 302, other.String() + "/there"},
		{"authority without scheme", "//" + other.Authority() + "/there", 302, other.String() + "/there"},
		{"no path", other.String(), 302, other.String() + "/"},
		{"scheme in capitals", "HTTP" + strings.TrimPrefix(other.String(), "http") + "/there", 302, other.String() + "/there"},
		{"empty", "", 302, ""},
		{"user information", "http://user:secret@" + other.Authority() + "/", 302, ""},
		{"ftp", "ftp://" + other.Authority() + "/robots.txt", 302, ""},
		{"file", "file:///etc/passwd", 302, ""},
		{"no host", "http:///robots.txt", 302, ""},
		{"opaque", "http:robots.txt", 302, ""},
		{"port out of range", "http://127.0.0.1:99999/", 302, ""},
		{"IPv4 address in another spelling", "http://2130706433/", 302, ""},
		{"malformed", "http://[::1/%zz", 302, ""},
		{"too long", "/" + strings.Repeat("x", 8000), 302, ""},
		{"loop of one", "/robots.txt", 302, ""},
		{"loop of one, spelt otherwise", "/./robots.txt#x", 302, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/there" {
					fmt.Fprint(w, file)
					return
				}
				w.Header().Set("Location", c.location)
				w.WriteHeader(c.status)
			})
			a := access(t, newStore(t, nil), o)
			if c.final == "" {
				if a.Result != policy.Unreachable || a.Status != c.status {
					t.Errorf("Location %q: got %+v, want unreachable", c.location, a)
				}
				if strings.Contains(a.Cause, "secret") {
					t.Errorf("Location %q: cause %q tells a secret", c.location, a.Cause)
				}
				return
			}
			final := strings.ReplaceAll(c.final, "%s", o.String())
			if a.Result != policy.Successful || a.FinalURL != final || a.URL != o.RobotsURL() || a.SHA256 != digest(file) {
				t.Errorf("Location %q: got %+v, want successful at %s", c.location, a, final)
			}
		})
	}
}

func TestRedirectLoopOverAuthorities(t *testing.T) {
	var there policy.Origin
	here := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, there.RobotsURL(), 302) })
	there = serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, here.RobotsURL(), 302) })
	a := access(t, newStore(t, nil), here)
	if a.Result != policy.Unreachable || !strings.Contains(a.Cause, "loop") {
		t.Errorf("got %+v, want unreachable because of a loop", a)
	}
}

func TestRedirectAcrossSchemesBelongsToTheFirstOrigin(t *testing.T) {
	asked := 0
	tr := transport(t, loopback)
	secure := serveTLS(t, tr, func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked > 1 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprint(w, file)
	})
	plain := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, secure.RobotsURL(), 301) })
	s := newStore(t, func(f *fetch.Options) { f.Transport = tr })

	a := access(t, s, plain)
	if a.Result != policy.Successful || a.URL != plain.RobotsURL() || a.FinalURL != secure.RobotsURL() {
		t.Errorf("got %+v, want successful by way of %s", a, secure.RobotsURL())
	}
	// The other origin's robots.txt is its own affair, even at the same URL.
	if a := access(t, s, secure); a.Result != policy.Unavailable || a.FinalURL != "" {
		t.Errorf("the target of the redirect: got %+v, want unavailable", a)
	}
}
