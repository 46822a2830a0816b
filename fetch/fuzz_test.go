package fetch

import (
	"net/http"
	"testing"
	"time"
)

// Whatever an origin sends as its times, freshness stays within its bounds.
func FuzzFreshness(f *testing.F) {
	for _, cc := range []string{
		"", "max-age=60", "no-store, no-cache", "s-maxage=1, max-age=2", `max-age="60`, "max-age=,,,=", `x="\"", max-age=1`,
		"max-age=9223372036854775808", "max-age=-1", "MAX-AGE=1;max-age=2", "no-cache=\"a,b\"",
	} {
		f.Add(cc, "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "0", "120")
	}
	f.Add("", "0", "Sun Nov  6 08:49:37 1994", "1,2", "Sun, 06 Nov 1994 08:49:37 GMT")
	f.Add("", "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "99999999999999999999", "-1")
	s := New(Options{})
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, cacheControl, expires, date, age, retry string) {
		h := http.Header{"Cache-Control": {cacheControl}, "Age": {age}, "Retry-After": {retry}, "Date": {date}}
		if expires != "" {
			h["Expires"] = []string{expires}
		}
		sent := time.Now()
		got := freshnessOf(h, sent, sent.Add(time.Second))
		if got.lifetime < 0 || got.age < 0 || got.left() < 0 {
			t.Errorf("%q: %+v", h, got)
		}
		if both := got.and(freshness{explicit: true, lifetime: time.Hour}); both.left() > time.Hour || both.noStore != got.noStore {
			t.Errorf("%q and an hour: %+v", h, both)
		}
		k := &known{}
		k.access.Retrieved = sent
		s.schedule(k, got.left())
		if left := k.fresh.Sub(sent); left < DefaultMinTTL || left > DefaultTTL || k.refresh.After(k.fresh) || k.grace.Sub(sent) > DefaultTTL {
			t.Errorf("%q: fresh for %v, refreshed after %v, used for %v", h, left, k.refresh.Sub(sent), k.grace.Sub(sent))
		}
		if wait := retryAfter(h, sent); wait < 0 || wait > maxRetryAfter {
			t.Errorf("Retry-After %q: %v", retry, wait)
		}
	})
}

// What a backend returns is an entry that encodes to the same again, or an error.
func FuzzDecodeEntry(f *testing.F) {
	f.Add(Entry{Origin: "https://a.example", Status: 200, Result: 2, Retrieved: time.UnixMilli(1), Declared: -1}.Encode())
	f.Add([]byte(`{"v":2}`))
	f.Add([]byte(`{"v":1,"declared":9223372036854775807}`))
	s := New(Options{})
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := DecodeEntry(data)
		if err != nil {
			return
		}
		k := s.fromEntry(origin(1), e, nil)
		k.at(time.Now())
		if time.Until(k.fresh) > DefaultTTL+maxSkew {
			t.Errorf("%s is fresh until %v", data, k.fresh)
		}
	})
}

func TestBackoffDoublesWithJitterToAnHour(t *testing.T) {
	for failures, base := range map[int]time.Duration{1: 30 * time.Second, 2: time.Minute, 3: 2 * time.Minute, 7: 32 * time.Minute, 8: 48 * time.Minute, 1000: 48 * time.Minute} {
		seen := map[time.Duration]bool{}
		for range 1000 {
			wait := backoff(30*time.Second, failures)
			if wait < base || wait > base*5/4 || wait > time.Hour {
				t.Fatalf("after %d failures: %v, want %v to a quarter more", failures, wait, base)
			}
			seen[wait] = true
		}
		if len(seen) < 900 {
			t.Errorf("after %d failures: only %d of 1000 waits differ", failures, len(seen))
		}
	}
	if wait := backoff(3*time.Hour, 5); wait != 3*time.Hour {
		t.Errorf("error_ttl longer than an hour: %v", wait)
	}
}

func TestEntryKeepsWhatIsKnown(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	o := origin(1)
	k := s.settle(nil, outcome{access: learnt(1, "x").access, file: newFile(digestOf("x"), []byte("x")), validators: validators{etag: `"1"`}})
	k.access.Retrieved, k.access.FinalURL, k.access.MediaType = time.UnixMilli(time.Now().UnixMilli()), "https://b.example/r", "text/html"
	s.schedule(k, time.Hour)
	k = s.failed(k, learntTrouble(o.RobotsURL()), 0)
	e, err := DecodeEntry(k.entry(o.String()).Encode())
	if err != nil {
		t.Fatal(err)
	}
	got := s.fromEntry(o, e, k.file)
	if got.access != k.access || got.validators != k.validators || got.trouble.failures != 1 || got.trouble.access.Cause != "no" {
		t.Errorf("got %+v with %+v, want %+v with %+v", got, got.trouble, k, k.trouble)
	}
	if d := got.fresh.Sub(k.fresh); d > time.Millisecond || d < -time.Millisecond || got.keep != k.keep {
		t.Errorf("fresh until %v, want %v", got.fresh, k.fresh)
	}
	if _, err := DecodeEntry([]byte(`{"v":2,"origin":"https://a.example"}`)); err != ErrNotStored {
		t.Errorf("another format: %v, want %v", err, ErrNotStored)
	}
}
