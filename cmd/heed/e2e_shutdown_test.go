package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// SIGTERM under load: what is in flight finishes, everything that was served is
// in the audit log, once, and the exit code is 0.
func TestTerminationUnderLoadLosesNothing(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private\n")
			return
		}
		_, _ = io.WriteString(w, "begun ")
		_ = http.NewResponseController(w).Flush()
		time.Sleep(50 * time.Millisecond)
		_, _ = io.WriteString(w, "and finished")
	}
	plain, secure := newSite(t, false, false, "", handler), newSite(t, true, true, "", handler)
	p := startProcess(t, []*site{plain, secure}, "HEED_LIMITS_SHUTDOWN_GRACE=20s")
	var served sync.Map
	var begun, count atomic.Int64
	var wg sync.WaitGroup
	for i := range 32 {
		c, origin := p.client(i%4 == 0), plain
		if i%2 == 0 {
			origin = secure
		}
		wg.Go(func() {
			for n := 0; ; n++ {
				url := fmt.Sprintf("%s/%s/%d/%d", origin.URL, []string{"public", "private"}[n%2], i, n)
				begun.Add(1)
				a, err := fetchURL(c, url)
				if a.status == 0 {
					return // the proxy takes no more
				}
				if err != nil || a.status == 200 && a.body != "begun and finished" {
					t.Errorf("%s: cut off: %d %q %v", url, a.status, a.body, err)
				}
				served.Store(url, a.status)
				count.Add(1)
			}
		})
	}
	for count.Load() < 400 {
		time.Sleep(5 * time.Millisecond)
	}
	records := p.records() // by SIGTERM
	wg.Wait()
	logged := map[string]int{}
	for _, r := range records {
		logged[fmt.Sprint(r["url"])]++
	}
	served.Range(func(url, status any) bool {
		if n := logged[url.(string)]; n != 1 {
			t.Errorf("%s was answered %v and has %d records", url, status, n)
		}
		return true
	})
	if int64(len(records)) > begun.Load() {
		t.Errorf("%d records of %d requests", len(records), begun.Load())
	}
	t.Logf("%d requests, %d answered, %d records", begun.Load(), count.Load(), len(records))
	if log := p.log(); !strings.Contains(log, "draining") || strings.Contains(log, "cut what had not finished") {
		t.Errorf("diagnostics: %s", log)
	}
}

// A tunnel that never ends is cut when the grace is over; it has its record,
// and the exit code is 0.
func TestTerminationCutsWhatDoesNotEnd(t *testing.T) {
	secure := newSite(t, true, false, "", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			return
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	for _, mode := range []string{"tunnel", "intercept"} {
		p := startProcess(t, []*site{secure}, "HEED_HTTPS_MODE="+mode, "HEED_LIMITS_SHUTDOWN_GRACE=200ms")
		c := secure.Client()
		if mode == "intercept" {
			c = p.client(true)
		} else {
			c.Transport.(*http.Transport).Proxy = proxyTo(p.addr)
		}
		res, err := c.Get(secure.URL + "/endless")
		if err != nil {
			t.Fatal(err)
		}
		records := p.records()
		if _, err := io.Copy(io.Discard, res.Body); err == nil {
			t.Errorf("%s: the answer that was cut looks complete", mode)
		}
		_ = res.Body.Close()
		c.CloseIdleConnections()
		if want := map[string]int{"tunnel": 2, "intercept": 1}[mode]; len(records) != want {
			t.Errorf("%s: records %v, want %d", mode, records, want)
		}
	}
}
