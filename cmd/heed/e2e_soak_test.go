package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// What of the soak's requests is aborted by the client, reset by the origin, and slow,
// in percent.
const (
	abortedShare = 5
	resetShare   = 2
	slowShare    = 1
)

// soakBody is what origins serve: a stretch of this, as long as the path says.
var soakBody = strings.Repeat("the quick brown fox jumps over the lazy dog. ", 1000)

// misbehave is an origin that does what the path says.
func misbehave(w http.ResponseWriter, r *http.Request) {
	var kind string
	var n, size int
	if _, err := fmt.Sscanf(r.URL.Path, "/%5s/%d/%d", &kind, &n, &size); err != nil {
		return // robots.txt, for one
	}
	switch kind {
	case "reset":
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler) // HTTP/2 resets the stream
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
		return
	case "slow.":
		select {
		case <-time.After(2 * time.Second):
		case <-r.Context().Done():
			return
		}
	}
	if r.Method == http.MethodPost {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	_, _ = io.WriteString(w, soakBody[:size])
}

// soak is a heed under a load that misbehaves.
type soak struct {
	*process
	plain   string // port
	secure  []*site
	clients []*http.Client
	total   atomic.Int64
	mu      sync.Mutex
	answers map[string]int // by what was asked and what came
}

// origin is one of 300: half of them in the open, by as many loopback addresses.
func (s *soak) origin(n int) string {
	if n%2 == 0 {
		return fmt.Sprintf("http://127.2.0.%d:%s", n/2+1, s.plain)
	}
	return s.secure[n/2%len(s.secure)].URL
}

// one makes a request and says what was asked and what came of it.
func (s *soak) one(c *http.Client, random *rand.Rand, n int) (kind, outcome string) {
	kind, size := "plain", random.IntN(len(soakBody))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	aborted := false
	switch p := random.IntN(100); {
	case p < abortedShare:
		aborted = true
		after := time.Duration(random.IntN(3000)) * time.Microsecond
		timer := time.AfterFunc(after, cancel)
		defer timer.Stop()
	case p < abortedShare+resetShare:
		kind = "reset"
	case p < abortedShare+resetShare+slowShare:
		kind = "slow."
	}
	method, body := http.MethodGet, io.Reader(nil)
	if random.IntN(10) == 0 {
		method, body = http.MethodPost, strings.NewReader(soakBody[:size])
	}
	req, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("%s/%s/%d/%d", s.origin(random.IntN(300)), kind, n, size), body)
	if err != nil {
		return kind, err.Error()
	}
	if aborted {
		kind = "aborted"
	}
	res, err := c.Do(req)
	if err != nil {
		if aborted && errors.Is(err, context.Canceled) {
			return kind, "aborted"
		}
		return kind, "error: " + withoutNumbers(err.Error())
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	switch status := res.Header.Get("Proxy-Status"); {
	case aborted && err != nil:
		return kind, "aborted"
	case strings.HasPrefix(status, "heed; error="):
		return kind, fmt.Sprintf("%d %s", res.StatusCode, strings.SplitN(status, ";", 3)[1])
	case err != nil:
		return kind, "broken: " + withoutNumbers(err.Error())
	case res.StatusCode != http.StatusOK || string(text) != soakBody[:size]:
		return kind, fmt.Sprintf("%d with %d octets of %d", res.StatusCode, len(text), size)
	}
	return kind, "whole"
}

// withoutNumbers keeps errors about different addresses together.
func withoutNumbers(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}

// accounted are the outcomes that the faults of a kind account for.
func accounted(kind, outcome string) bool {
	switch kind {
	case "aborted":
		return outcome == "aborted" || outcome == "whole" // it was faster
	case "reset":
		return strings.HasPrefix(outcome, "502 ")
	}
	return outcome == "whole"
}

// trend is what is measured as time goes by.
type trend struct{ resident, goroutines, descriptors []float64 }

func (tr *trend) add(l load) {
	tr.resident = append(tr.resident, float64(l.resident>>10))
	tr.goroutines = append(tr.goroutines, float64(l.goroutines))
	tr.descriptors = append(tr.descriptors, float64(l.descriptors))
}

// rises reports whether the mean of the last third is more than share above that of
// the second: the first is the warming up. That nothing leaks shows also when all of it
// is over.
func rises(samples []float64, share float64) (from, to float64, up bool) {
	third := len(samples) / 3
	from, to = mean(samples[third:2*third]), mean(samples[2*third:])
	return from, to, to > from*(1+share)
}

func mean(samples []float64) (m float64) {
	for _, s := range samples {
		m += s / float64(len(samples))
	}
	return m
}

// soakTime is SOAK_TIME, or three minutes of TEST_FULL, or a few seconds.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	if full() {
		return fromEnv(t, "SOAK_TIME", 3*time.Minute)
	}
	return fromEnv(t, "SOAK_TIME", 2*time.Second)
}

// soakPace is how often a client asks: seldom enough that a machine with other work
// keeps up, since what is under way at a time is to show growth and nothing else.
// SOAK_PACE=0s asks as often as can be.
func soakPace(t *testing.T) time.Duration {
	t.Helper()
	return fromEnv(t, "SOAK_PACE", 200*time.Millisecond)
}

func fromEnv(t *testing.T, name string, otherwise time.Duration) time.Duration {
	t.Helper()
	given := os.Getenv(name)
	if given == "" {
		return otherwise
	}
	d, err := time.ParseDuration(given)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// newSoak starts 300 origins, half of them with TLS, and a heed for them.
func newSoak(t *testing.T) *soak {
	t.Helper()
	plain := httptest.NewUnstartedServer(http.HandlerFunc(misbehave))
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	plain.Listener = l
	plain.Start()
	t.Cleanup(plain.Close)
	s := &soak{answers: map[string]int{}}
	_, s.plain, _ = net.SplitHostPort(l.Addr().String())
	for i := range 150 {
		s.secure = append(s.secure, newSite(t, true, i%2 == 0, "", misbehave))
	}
	s.process = startProcess(t, s.secure, "HEED_EGRESS_IDLE_TIMEOUT=5s", "HEED_ROBOTS_TIMEOUT=20s")
	for i := range 64 {
		c := s.client(i%2 == 0)
		// Each client would keep a connection to each origin, and it would take minutes
		// until all are there.
		tr := c.Transport.(*http.Transport)
		tr.MaxIdleConns, tr.IdleConnTimeout = 16, 2*time.Second
		s.clients = append(s.clients, c)
	}
	return s
}

// run lets the clients ask until the time is over, and returns how the load went.
func (s *soak) run(d, pace time.Duration) (tr trend) {
	var wg sync.WaitGroup
	end := time.Now().Add(d)
	for i, c := range s.clients {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for n, next := 0, time.Now(); time.Now().Before(end); n++ {
				time.Sleep(time.Until(next))
				next = next.Add(pace)
				kind, outcome := s.one(c, random, n)
				s.total.Add(1)
				s.mu.Lock()
				s.answers[kind+": "+outcome]++
				if !accounted(kind, outcome) {
					s.answers["NOT EXPLAINED "+kind+": "+outcome]++
				}
				s.mu.Unlock()
			}
		})
	}
	for time.Now().Before(end) {
		tr.add(s.load())
		time.Sleep(min(time.Second, d/40))
	}
	wg.Wait()
	return tr
}

// Clients that abort and origins that reset and dawdle: each answer that heed made is
// explained by a fault, and nothing that it holds grows. SOAK_TIME=20m for as long.
func TestSoak(t *testing.T) {
	d := soakTime(t)
	s := newSoak(t)
	base := s.load()
	pace := soakPace(t)
	tr := s.run(d, pace)
	for _, c := range s.clients {
		c.CloseIdleConnections()
	}
	t.Logf("before %+v, afterwards %+v", base, s.awaitBase(base, "soak"))
	s.mu.Lock()
	defer s.mu.Unlock()
	for what, n := range s.answers {
		t.Logf("%7d  %s", n, what)
		if strings.HasPrefix(what, "NOT EXPLAINED") {
			t.Errorf("%d answers are not explained: %s", n, what)
		}
	}
	t.Logf("%d requests in %v", s.total.Load(), d)
	for _, m := range []struct {
		name    string
		samples []float64
		share   float64
	}{{"resident KiB", tr.resident, .25}, {"goroutines", tr.goroutines, .50}, {"descriptors", tr.descriptors, .50}} {
		from, to, up := rises(m.samples, m.share)
		t.Logf("%-13s %.0f, later %.0f", m.name, from, to)
		if up && d >= time.Minute && pace > 0 {
			t.Errorf("%s rise from %.0f to %.0f", m.name, from, to)
		}
	}
	if records := s.records(); int64(len(records)) > s.total.Load() || int64(len(records)) < s.total.Load()*9/10 {
		t.Errorf("%d records of %d requests", len(records), s.total.Load()) // some are aborted before heed hears of them
	}
}
