package main

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// besieged is a heed that is attacked while others use it.
type besieged struct {
	*process
	plain, secure *site
	others        []*http.Client
	quiet         load          // before anything happened, warmed up
	median        time.Duration // of the others, then
}

// big is what a slow reader reads slowly.
var big = strings.Repeat("0123456789abcdef", 256<<10)

// besiege starts a heed with short limits and measures it while it is quiet.
func besiege(t *testing.T, env ...string) *besieged {
	t.Helper()
	serve := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/robots.txt":
		case strings.HasPrefix(r.URL.Path, "/big"):
			_, _ = io.WriteString(w, big)
		default:
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, "hello")
		}
	}
	b := &besieged{plain: newSite(t, false, false, "", serve), secure: newSite(t, true, true, "", serve)}
	b.process = startProcess(t, []*site{b.plain, b.secure}, append([]string{
		"HEED_LIMITS_HEADER_TIMEOUT=3s", "HEED_LIMITS_IDLE_TIMEOUT=3s", "HEED_EGRESS_IDLE_TIMEOUT=500ms",
	}, env...)...)
	b.others = []*http.Client{b.client(false), b.client(true)}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() { b.visit(200 * time.Millisecond) })
	}
	wg.Wait()
	b.hangUp()
	b.quiet = b.settled()
	b.median = b.visit(b.round())
	return b
}

// round is how long the others are measured at a time.
func (b *besieged) round() time.Duration {
	if full() {
		return 2 * time.Second
	}
	return 200 * time.Millisecond
}

func (b *besieged) hangUp() {
	for _, c := range b.others {
		c.CloseIdleConnections()
	}
}

// settled waits until nothing of what was before is held any more.
func (b *besieged) settled() load {
	b.t.Helper()
	last := b.load()
	eventually(b.t, "goroutines and descriptors settle", func() bool {
		time.Sleep(600 * time.Millisecond) // longer than unused connections to origins are kept
		now := b.load()
		same := now.goroutines >= last.goroutines && now.descriptors >= last.descriptors
		last = now
		return same
	})
	return last
}

// visit asks for pages one after the other, in the open and inside interception,
// and returns the median of the time that took. Each has to be answered.
func (b *besieged) visit(d time.Duration) time.Duration {
	var took []time.Duration
	for end := time.Now().Add(d); time.Now().Before(end); {
		for _, c := range b.others {
			for _, url := range []string{b.plain.URL, b.secure.URL} {
				start := time.Now()
				if a, err := fetchURL(c, url+"/page"); err != nil || a.status != 200 || a.body != "hello" {
					b.t.Errorf("another client: %s: %d %q %v", url, a.status, a.body, err)
					return 0
				}
				took = append(took, time.Since(start))
			}
		}
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// Bounds of what an attack may do to others, and for how long a measurement may go
// on until it is as good: a machine with other work makes every one of them worse.
const (
	slowdown = 2
	jitter   = time.Millisecond // of a scheduler, where a request takes less
	tries    = 5
)

// endure measures the others and the memory while attack runs, and waits until
// all is as it was before it. attack returns when stop is closed.
func (b *besieged) endure(name string, attack func(stop <-chan struct{}) string) {
	b.t.Helper()
	stop, done := make(chan struct{}), make(chan string, 1)
	go func() { done <- attack(stop) }()
	time.Sleep(b.round()) // until it has begun
	var ratios []string
	var most int64
	good := false
	for range tries {
		attacked := b.visit(b.round())
		resident := b.load().resident
		most = max(most, resident)
		ratios = append(ratios, fmt.Sprintf("%v", attacked.Round(10*time.Microsecond)))
		if good = attacked <= max(slowdown*b.median, b.median+jitter); good || !full() {
			break
		}
	}
	close(stop)
	said := <-done
	b.hangUp()
	after := b.awaitBase(b.quiet, name)
	b.t.Logf("%-18s median %v, attacked %s; resident %d MiB, at most %d, after %d; goroutines %d, after %d; descriptors %d, after %d. %s",
		name, b.median.Round(10*time.Microsecond), strings.Join(ratios, ", "), b.quiet.resident>>20, most>>20, after.resident>>20,
		b.quiet.goroutines, after.goroutines, b.quiet.descriptors, after.descriptors, said)
	if full() && !raceEnabled && !good {
		b.t.Errorf("%s: others wait more than %d times as long", name, slowdown)
	}
	if most > slowdown*max(b.quiet.resident, 32<<20) && !raceEnabled {
		b.t.Errorf("%s: %d MiB are resident, in quiet %d", name, most>>20, b.quiet.resident>>20)
	}
}
