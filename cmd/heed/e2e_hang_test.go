//go:build unix

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"
)

// More origins hang than robots.txt may be fetched at one time, with all the room
// there is for those that hang: the others are decided on meanwhile.
func TestOriginsThatHangDoNotHoldUpTheOthers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only Linux has all of 127.0.0.0/8 as loopback addresses")
	}
	const fetches, hanging = 2, 50 // room for 2 and 30
	var mu sync.Mutex
	asked, enough := 0, make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if asked++; asked == fetches*16 {
			close(enough)
		}
		mu.Unlock()
		<-r.Context().Done()
	}))
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	healthy := newSite(t, false, false, testRobots)
	p := startProcess(t, []*site{healthy}, fmt.Sprintf("HEED_ROBOTS_MAX_FETCHES=%d", fetches), "HEED_ROBOTS_TIMEOUT=10m")
	client := p.client(false)
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	for i := range hanging {
		clients.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.2.0.%d:%d/", i+1, l.Addr().(*net.TCPAddr).Port), nil)
			if err != nil {
				t.Error(err)
				return
			}
			if res, err := client.Do(req); err == nil {
				_ = res.Body.Close()
			}
		})
	}
	select {
	case <-enough:
	case <-time.After(time.Minute):
		t.Fatal("the hanging origins are not asked")
	}
	// Both verdicts, each far within the ten minutes that the others may take.
	for path, want := range map[string]int{"/open": 200, "/private/x": 403} {
		if a, err := fetchURL(client, healthy.URL+path); err != nil || a.status != want {
			t.Errorf("%s: status %d %v, want %d", path, a.status, err, want)
		}
	}
}
