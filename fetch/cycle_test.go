package fetch_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heed/fetch"
	"heed/policy"
)

// A step is one use of an origin's robots.txt, a while after the one before.
type step struct {
	after  time.Duration
	answer http.HandlerFunc // from here on; nil: as before
	want   string           // result, "stale" after it when it is
	file   string           // whose rules apply; "" when it does not matter
	asked  int              // how often the origin has been asked in all, once refreshes have ended
	log    string           // what the last log line holds, parted by |
}

// script is a real origin whose answers change, with what it was asked.
type script struct {
	mu     sync.Mutex
	answer http.HandlerFunc
	asked  int
	log    bytes.Buffer
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if r.URL.Path == "/robots.txt" {
		s.asked++
	}
	answer := s.answer
	s.mu.Unlock()
	answer(w, r)
}

func (s *script) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *script) lastLine() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(s.log.String()), "\n")
	return lines[len(lines)-1]
}

// play runs steps on a clock of their own. The origin is real, and outside it.
func play(t *testing.T, set func(*fetch.Options), steps []step) {
	t.Helper()
	sc := &script{}
	srv := httptest.NewServer(sc)
	defer srv.Close()
	o := originOf(t, srv.URL)
	synctest.Test(t, func(t *testing.T) {
		tr := transport(t, loopback)
		tr.DisableKeepAlives = true // an idle connection would hold the clock
		options := fetch.Options{Transport: tr, Log: slog.New(slog.NewTextHandler(sc, nil))}
		if set != nil {
			set(&options)
		}
		s := fetch.New(options)
		defer s.Close()
		for i, st := range steps {
			time.Sleep(st.after)
			if st.answer != nil {
				sc.mu.Lock()
				sc.answer = st.answer
				sc.mu.Unlock()
			}
			a, err := s.Access(t.Context(), o)
			synctest.Wait()
			got := a.Result.String()
			if a.Stale {
				got += " stale"
			}
			if err != nil || got != st.want {
				t.Errorf("step %d: got %s, cause %q, error %v; want %s", i, got, a.Cause, err, st.want)
			}
			if st.file != "" && a.SHA256 != digest(st.file) {
				t.Errorf("step %d: the rules of another file apply than of %q", i, st.file)
			}
			if (a.Robots != nil) != (a.Result == policy.Successful) || a.Stale && a.Result != policy.Successful {
				t.Errorf("step %d: got %+v", i, a)
			}
			if sc.asked != st.asked {
				t.Errorf("step %d: the origin was asked %d times, want %d", i, sc.asked, st.asked)
			}
			for _, part := range strings.Split(st.log, "|") {
				if line := sc.lastLine(); !strings.Contains(line, part) {
					t.Errorf("step %d: log line %s\nwant %s", i, line, part)
				}
			}
		}
	})
}

// reply answers with a status, a body and fields "Name: value".
func reply(status int, body string, fields ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, f := range fields {
			name, value, _ := strings.Cut(f, ": ")
			w.Header().Add(name, value)
		}
		w.WriteHeader(status)
		if body != "" {
			io.WriteString(w, body)
		}
	}
}

// conditional answers 304 to a request that asks about the copy at hand.
func conditional(etag, body string, fields ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		fields := append(fields, "ETag: "+etag)
		if r.Header.Get("If-None-Match") == etag {
			reply(304, "", fields...)(w, r)
			return
		}
		reply(200, body, fields...)(w, r)
	}
}

const (
	first  = "User-agent: *\nDisallow: /first\n"
	second = "User-agent: *\nDisallow: /second\n"
)

// Each answer is fresh for as long as it says, within min_ttl (1m) and ttl (24h).
func TestFreshnessOfAnAnswer(t *testing.T) {
	now := time.Now().UTC()
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	cases := []struct {
		name   string
		answer http.HandlerFunc
		want   string
		fresh  time.Duration
	}{
		{"nothing said", reply(200, first), "successful", 24 * time.Hour},
		{"max-age", reply(200, first, "Cache-Control: max-age=3600"), "successful", time.Hour},
		{"max-age among others, in capitals", reply(200, first, "Cache-Control: public, Max-Age=3600, x=\"a, max-age=5\""), "successful", time.Hour},
		{"max-age in quotes", reply(200, first, `Cache-Control: max-age="3600"`), "successful", time.Hour},
		{"in a second field line", reply(200, first, "Cache-Control: public", "Cache-Control: max-age=3600"), "successful", time.Hour},
		{"s-maxage comes before max-age", reply(200, first, "Cache-Control: max-age=60, s-maxage=7200"), "successful", 2 * time.Hour},
		{"shorter than min_ttl", reply(200, first, "Cache-Control: max-age=5"), "successful", time.Minute},
		{"longer than ttl", reply(200, first, "Cache-Control: max-age=31536000"), "successful", 24 * time.Hour},
		{"longer than any number", reply(200, first, "Cache-Control: max-age=99999999999999999999"), "successful", 24 * time.Hour},
		{"no-cache", reply(200, first, "Cache-Control: no-cache, max-age=3600"), "successful", time.Minute},
		{"no-store", reply(200, first, "Cache-Control: no-store"), "successful", time.Minute},
		{"no-store and max-age", reply(200, first, "Cache-Control: no-store, max-age=3600"), "successful", time.Minute},
		{"max-age twice and different", reply(200, first, "Cache-Control: max-age=3600, max-age=7200"), "successful", time.Minute},
		{"max-age twice and the same", reply(200, first, "Cache-Control: max-age=3600, max-age=3600"), "successful", time.Hour},
		{"max-age that is no number", reply(200, first, "Cache-Control: max-age=1h"), "successful", time.Minute},
		{"max-age below zero", reply(200, first, "Cache-Control: max-age=-1"), "successful", time.Minute},
		{"private and must-revalidate say nothing", reply(200, first, "Cache-Control: private, must-revalidate"), "successful", 24 * time.Hour},
		{"Expires", reply(200, first, "Date: "+date(0), "Expires: "+date(2*time.Hour)), "successful", 2 * time.Hour},
		{"Expires against the origin's own clock", reply(200, first, "Date: "+date(-48*time.Hour), "Expires: "+date(-46*time.Hour)), "successful", 2 * time.Hour},
		{"Expires in the past", reply(200, first, "Date: "+date(0), "Expires: "+date(-time.Hour)), "successful", time.Minute},
		{"Expires: 0", reply(200, first, "Expires: 0"), "successful", time.Minute},
		{"max-age comes before Expires", reply(200, first, "Cache-Control: max-age=3600", "Expires: 0"), "successful", time.Hour},
		{"Age is taken off", reply(200, first, "Cache-Control: max-age=3600", "Age: 600"), "successful", 50 * time.Minute},
		{"Age is taken off ttl too", reply(200, first, "Age: 3600"), "successful", 23 * time.Hour},
		{"Age beyond max-age", reply(200, first, "Cache-Control: max-age=3600", "Age: 7200"), "successful", time.Minute},
		{"Age that is none", reply(200, first, "Cache-Control: max-age=3600", "Age: old"), "successful", time.Hour},
		{"unavailable, as long as it says", reply(404, "", "Cache-Control: max-age=3600"), "unavailable", time.Hour},
		{"unavailable, nothing said", reply(404, ""), "unavailable", 24 * time.Hour},
		{"no content", reply(204, ""), "successful", 24 * time.Hour},
		{"empty", reply(200, ""), "successful", 24 * time.Hour},
		{"a redirect that ends before its target", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/there" {
				reply(200, first, "Cache-Control: max-age=7200")(w, r)
				return
			}
			reply(302, "", "Location: /there", "Cache-Control: max-age=600")(w, r)
		}, "successful", 10 * time.Minute},
		{"a redirect that says nothing", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/there" {
				reply(200, first, "Cache-Control: max-age=7200")(w, r)
				return
			}
			reply(301, "", "Location: /there")(w, r)
		}, "successful", 2 * time.Hour},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			log := fmt.Sprintf("msg=\"robots.txt fetched\"|access=%s|fresh_for=%v", c.want, c.fresh)
			last := c.fresh - max(c.fresh/5, 0) - time.Second // before a refresh may begin
			play(t, nil, []step{
				{0, c.answer, c.want, "", 1, log},
				{last, nil, c.want, "", 1, log},
				{c.fresh + time.Minute - last, nil, c.want, "", 2, log}, // awaited: the copy is past its use
			})
		})
	}
}

// How a copy is used, renewed and replaced over its life.
func TestLifeOfACopy(t *testing.T) {
	hour := "Cache-Control: max-age=3600"
	cases := []struct {
		name  string
		set   func(*fetch.Options)
		steps []step
	}{
		{"refreshed in the background before its end", nil, []step{
			{0, reply(200, first, hour), "successful", first, 1, "fresh_for=1h0m0s"},
			{55 * time.Minute, reply(200, second, hour), "successful", first, 2, "fresh_for=1h0m0s"},
			{time.Second, nil, "successful", second, 2, ""},
			{45 * time.Minute, nil, "successful", second, 2, ""}, // nobody asks before there is need
		}},
		{"used a moment longer while it is refreshed, as stale", nil, []step{
			{0, reply(200, first, hour), "successful", first, 1, ""},
			{time.Hour + 30*time.Second, reply(200, second, hour), "successful stale", first, 2, ""},
			{time.Second, nil, "successful", second, 2, ""},
		}},
		{"awaited when it is past its use", nil, []step{
			{0, reply(200, first, hour), "successful", first, 1, ""},
			{time.Hour + time.Minute, reply(200, second, hour), "successful", second, 2, ""},
		}},
		{"never used for longer than ttl", nil, []step{
			{0, reply(200, first), "successful", first, 1, ""},
			{24 * time.Hour, reply(200, second), "successful", second, 2, ""},
		}},
		{"replaced by a file that is not there any more", nil, []step{
			{0, reply(200, first, hour), "successful", first, 1, ""},
			{2 * time.Hour, reply(410, ""), "unavailable", "", 2, "access=unavailable"},
			{25 * time.Hour, reply(503, ""), "unreachable", "", 3, "stale=false"}, // no copy is left
		}},
		{"renewed by its entity tag", nil, []step{
			{0, conditional(`"1"`, first, hour), "successful", first, 1, "not_modified=false"},
			{2 * time.Hour, nil, "successful", first, 2, "not_modified=true|status=304|fresh_for=1h0m0s"},
			{45 * time.Minute, nil, "successful", first, 2, ""},
			{2 * time.Hour, conditional(`"2"`, second, hour), "successful", second, 3, "not_modified=false"},
		}},
		{"renewed by a weak entity tag", nil, []step{
			{0, conditional(`W/"1"`, first, hour), "successful", first, 1, ""},
			{2 * time.Hour, nil, "successful", first, 2, "not_modified=true"},
		}},
		{"renewed by its date", nil, []step{
			{0, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("If-Modified-Since") == "Sun, 06 Nov 1994 08:49:37 GMT" {
					w.WriteHeader(304)
					return
				}
				reply(200, first, hour, "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT")(w, r)
			}, "successful", first, 1, ""},
			{2 * time.Hour, nil, "successful", first, 2, "not_modified=true|fresh_for=1h0m0s"}, // as long as the file itself said
		}},
		{"renewed for as long as the 304 says", nil, []step{
			{0, reply(200, first, hour, `ETag: "1"`), "successful", first, 1, ""},
			{2 * time.Hour, reply(304, "", "Cache-Control: max-age=7200"), "successful", first, 2, "fresh_for=2h0m0s"},
		}},
		{"not renewed by a 304 about another copy", nil, []step{
			{0, reply(200, first, hour, `ETag: "1"`), "successful", first, 1, ""},
			{2 * time.Hour, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("If-None-Match") != "" {
					reply(304, "", `ETag: "2"`)(w, r)
					return
				}
				reply(200, second, hour)(w, r)
			}, "successful", second, 3, "not_modified=false"},
		}},
		{"renewed where a redirect led to it", nil, []step{
			{0, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/robots.txt" && r.Header.Get("If-None-Match") != "":
					reply(500, "")(w, r)
				case r.URL.Path == "/robots.txt":
					reply(302, "", "Location: /there")(w, r)
				default:
					conditional(`"1"`, first, hour)(w, r)
				}
			}, "successful", first, 1, ""},
			{2 * time.Hour, nil, "successful", first, 2, "not_modified=true"},
		}},
		{"304 without a copy", nil, []step{
			{0, reply(304, ""), "unreachable", "", 1, "status=304"},
		}},
		{"no-store is not kept for later", nil, []step{
			{0, reply(200, first, hour, "Cache-Control: no-store"), "successful", first, 1, ""},
			{2 * time.Hour, reply(503, ""), "unreachable", "", 2, "stale=false"},
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { play(t, c.set, c.steps) })
	}
}
