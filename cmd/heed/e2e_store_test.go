//go:build unix

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"heed/fetch"
	"heed/internal/testtool"
)

// full reports whether tests that take long run at their full size.
func full() bool { return os.Getenv("TEST_FULL") != "" }

// many are as many origins as there are loopback addresses: one server, known
// by each of them. Each disallows /private.
type many struct {
	*httptest.Server
	port  string
	mu    sync.Mutex
	asked map[string]int // robots.txt, by host
}

func newMany(t *testing.T) *many {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only Linux has all of 127.0.0.0/8 as loopback addresses")
	}
	m := &many{asked: map[string]int{}}
	m.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			m.mu.Lock()
			m.asked[r.Host]++
			m.mu.Unlock()
			fmt.Fprintf(w, "# %s\nUser-agent: *\nDisallow: /private\n", r.Host)
			return
		}
		_, _ = io.WriteString(w, "hello")
	}))
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	m.Listener = l
	m.Start()
	t.Cleanup(m.Close)
	_, m.port, _ = net.SplitHostPort(l.Addr().String())
	return m
}

func (m *many) origin(i int) string {
	return fmt.Sprintf("http://127.1.%d.%d:%s", i/250, i%250+1, m.port)
}

// counts returns how many origins were asked, and how often the one that was
// asked most.
func (m *many) counts() (origins, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.asked {
		most = max(most, n)
	}
	return len(m.asked), most
}

// metric reads a sample from the process's metrics.
func (p *process) metric(name string) float64 {
	p.t.Helper()
	a, err := fetchURL(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, "http://"+p.admin+"/metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(a.body)
	if m == nil {
		p.t.Fatalf("no %s in %s", name, a.body)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// visitOrigin asks for a page of origin i, allowed or not, and complains when the
// verdict is another.
func visitOrigin(t *testing.T, c *http.Client, m *many, i int, private bool) time.Duration {
	path, want := "/public", 200
	if private {
		path, want = "/private", 403
	}
	start := time.Now()
	a, err := fetchURL(c, m.origin(i)+path)
	took := time.Since(start)
	if err != nil || a.status != want {
		t.Errorf("%s%s: %d %v, want %d: %s", m.origin(i), path, a.status, err, want, a.body)
	}
	return took
}

// Three processes, a thousand origins, thirty clients of each process: every
// robots.txt is fetched once.
func TestFleetFetchesOnce(t *testing.T) {
	origins, clients := 100, 10
	if full() {
		origins, clients = 1000, 30
	}
	r := testtool.StartRedis(t)
	m := newMany(t)
	var fleet []*process
	for range 3 {
		fleet = append(fleet, startProcess(t, nil, "HEED_ROBOTS_STORE=redis://"+r.Addr, "HEED_AUDIT_EVENTS=refused", "HEED_ROBOTS_TIMEOUT=10s", "HEED_ROBOTS_STORE_TIMEOUT=5s"))
	}
	start := time.Now()
	var wg sync.WaitGroup
	for _, p := range fleet {
		for n := range clients {
			c := p.client(false)
			wg.Go(func() {
				for i := range origins {
					visitOrigin(t, c, m, (i*7+n)%origins, i%10 == 0)
				}
			})
		}
	}
	wg.Wait()
	asked, most := m.counts()
	t.Logf("%d requests in %v: %d origins asked, each at most %d times", 3*origins*clients, time.Since(start).Round(time.Millisecond), asked, most)
	if asked != origins || most != 1 {
		t.Errorf("%d origins were asked, one of them %d times; want %d, once each", asked, most, origins)
	}
	for _, p := range fleet {
		if n := p.metric("heed_store_errors_total"); n != 0 {
			t.Errorf("%v store errors", n)
		}
	}
}

// A store that hangs, dies and comes back under load: no verdict changes, no
// request waits for it longer than its time-out, and the errors are counted.
func TestRedisInTroubleIsDoneWithout(t *testing.T) {
	// What a request may take beyond the time-out is the machine's own: the fetch,
	// and eight clients on its cores, with others or the race detector.
	timeout, phase, slack := time.Second, 1500*time.Millisecond, 3*time.Second
	if full() {
		timeout, phase, slack = fetch.DefaultStoreTimeout, 5*time.Second, 500*time.Millisecond
	}
	r := testtool.StartRedis(t)
	m := newMany(t)
	p := startProcess(t, nil, "HEED_ROBOTS_STORE=redis://"+r.Addr, "HEED_AUDIT_EVENTS=refused", "HEED_ROBOTS_STORE_TIMEOUT="+timeout.String())
	var next atomic.Int64 // origins that nobody has asked yet
	var worst atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for n := range 8 {
		c := p.client(false)
		wg.Go(func() {
			for i := n; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(2 * time.Millisecond):
				}
				which := i % 50 // known ones
				if i%4 == 0 && next.Load() < 50_000 {
					which = 100 + int(next.Add(1))
				}
				took := visitOrigin(t, c, m, which, i%3 == 0)
				for old := worst.Load(); int64(took) > old && !worst.CompareAndSwap(old, int64(took)); old = worst.Load() {
				}
			}
		})
	}
	during := func(what string) {
		worst.Store(0)
		before, at := next.Load(), p.metric("heed_store_errors_total")
		time.Sleep(phase)
		w := time.Duration(worst.Load())
		t.Logf("%s: %d new origins, slowest request %v, %v store errors", what, next.Load()-before, w.Round(time.Millisecond), p.metric("heed_store_errors_total")-at)
		if w > timeout+slack {
			t.Errorf("%s: a request took %v", what, w)
		}
	}
	during("redis works")
	if n := p.metric("heed_store_errors_total"); n != 0 {
		t.Errorf("%v store errors while redis works", n)
	}
	_ = r.Process().Signal(syscall.SIGSTOP)
	during("redis is stopped")
	stopped := p.metric("heed_store_errors_total")
	_ = r.Process().Signal(syscall.SIGCONT)
	during("redis goes on")
	r.Kill()
	during("redis is killed")
	killed := p.metric("heed_store_errors_total")
	r.Start()
	time.Sleep(2 * time.Second) // it is tried again every second
	during("redis is back")
	close(stop)
	wg.Wait()
	if stopped == 0 || killed <= stopped {
		t.Errorf("store errors: %v when stopped, %v when killed", stopped, killed)
	}
	if _, most := m.counts(); most != 1 {
		t.Errorf("one origin was asked %d times", most)
	}
	for _, line := range []string{"robots.txt store fails: going on without it", "robots.txt store works again"} {
		if !strings.Contains(p.log(), line) {
			t.Errorf("the log does not say %q", line)
		}
	}
	// It is in use again: another process finds there what this one fetched.
	q := startProcess(t, nil, "HEED_ROBOTS_STORE=redis://"+r.Addr, "HEED_ROBOTS_STORE_TIMEOUT=5s")
	visitOrigin(t, q.client(false), m, 100+int(next.Load()), false)
	if n := q.metric(`heed_robots_cache_total{result="store"}`); n != 1 {
		t.Errorf("%v lookups were answered by the store, want 1", n)
	}
}

// A process that dies while it fetches for the fleet costs the others no more
// than the lease.
func TestFleetOutlivesAHolderOfALease(t *testing.T) {
	r := testtool.StartRedis(t)
	var asked atomic.Int64
	first := make(chan struct{})
	slow := newSite(t, false, false, "", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" && asked.Add(1) == 1 {
			close(first)
			<-r.Context().Done()
		}
	})
	env := []string{"HEED_ROBOTS_STORE=redis://" + r.Addr, "HEED_ROBOTS_STORE_TIMEOUT=5s", "HEED_ROBOTS_TIMEOUT=60s"}
	a, b := startProcess(t, []*site{slow}, env...), startProcess(t, []*site{slow}, env...)
	go func() { _, _ = fetchURL(a.client(false), slow.URL+"/x") }()
	<-first
	answered := make(chan error, 1)
	start := time.Now()
	go func() {
		got, err := fetchURL(b.client(false), slow.URL+"/x")
		if err == nil && got.status != 200 {
			err = fmt.Errorf("status %d: %s", got.status, got.body)
		}
		answered <- err
	}()
	time.Sleep(1500 * time.Millisecond) // past one renewal
	if asked.Load() != 1 {
		t.Error("the other process did not wait")
	}
	_ = a.cmd.Process.Kill()
	killed := time.Now()
	if err := <-answered; err != nil {
		t.Error(err)
	}
	t.Logf("answered %v after the holder was killed, %v in all", time.Since(killed).Round(time.Millisecond), time.Since(start).Round(time.Millisecond))
	if took := time.Since(killed); took > 4*time.Second {
		t.Errorf("the lease cost %v", took)
	}
}

// What one process of a fleet finds out, the others know within a second; and
// heed robots shows and changes it.
func TestFleetHearsOfAChange(t *testing.T) {
	r := testtool.StartRedis(t)
	var shut atomic.Bool
	origin := newSite(t, false, false, "", func(w http.ResponseWriter, _ *http.Request) {
		if shut.Load() {
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /\n")
		}
	})
	env := []string{"HEED_ROBOTS_STORE=redis://" + r.Addr, "HEED_ROBOTS_STORE_TIMEOUT=5s", "HEED_ADMIN_TOKEN=s3cret"}
	a, b := startProcess(t, []*site{origin}, env...), startProcess(t, []*site{origin}, env...)
	for _, p := range []*process{a, b} {
		if got, err := fetchURL(p.client(false), origin.URL+"/x"); err != nil || got.status != 200 {
			t.Fatalf("%d %v", got.status, err)
		}
	}
	shut.Store(true)
	start := time.Now()
	out, code := heedRobots(a, "refresh", origin.URL)
	if code != exitOK || !strings.Contains(out, "successful") {
		t.Fatalf("refresh: %d %s", code, out)
	}
	for {
		got, err := fetchURL(b.client(false), origin.URL+"/x")
		if err != nil {
			t.Fatal(err)
		}
		if got.status == 403 {
			break
		}
		if time.Since(start) > 5*time.Second {
			t.Fatal("the other process never hears of it")
		}
		time.Sleep(10 * time.Millisecond)
	}
	took := time.Since(start)
	t.Logf("the other process knew after %v", took.Round(time.Millisecond))
	if took > time.Second {
		t.Errorf("the other process knew only after %v", took)
	}
	if n := origin.count("/robots.txt"); n != 2 {
		t.Errorf("the origin was asked %d times, want 2", n)
	}
	if out, code := heedRobots(a, "forget", origin.URL); code != exitOK {
		t.Errorf("forget: %d %s", code, out)
	}
	time.Sleep(time.Second)
	if out, code := heedRobots(b, "show", origin.URL); code != exitDisallow || !strings.Contains(out, "nothing is remembered") {
		t.Errorf("forgotten by the other process: %d %s", code, out)
	}
}

// heedRobots runs heed robots against p's admin listener.
func heedRobots(p *process, args ...string) (string, int) {
	var out strings.Builder
	args = append([]string{"robots"}, append(args, "--admin", p.admin)...)
	code := run(args, env{stdout: &out, stderr: &out, environ: []string{"HEED_ADMIN_TOKEN=s3cret"}})
	return out.String(), code
}

// A restart with a store in a file: no origin is asked again within its
// freshness. What was shut stays shut while its origin is away.
func TestRestartWithAFileAsksNobody(t *testing.T) {
	const origins = 200
	m := newMany(t)
	db := filepath.Join(t.TempDir(), "robots.db")
	round := func() *process {
		p := startProcess(t, nil, "HEED_ROBOTS_STORE=file:"+db, "HEED_AUDIT_EVENTS=refused")
		c := p.client(false)
		for i := range origins {
			visitOrigin(t, c, m, i, i%2 == 0)
		}
		return p
	}
	p := round()
	if err := p.terminate(); err != nil {
		t.Errorf("exit: %v", err)
	}
	p = round()
	if asked, most := m.counts(); asked != origins || most != 1 {
		t.Errorf("%d origins were asked, one of them %d times; want %d once", asked, most, origins)
	}
	if n := p.metric(`heed_robots_cache_total{result="store"}`); n != origins {
		t.Errorf("%v lookups were answered by the store, want %d", n, origins)
	}
	_ = p.cmd.Process.Kill()
	p.exited <- <-p.exited
	// Noise in the place of the file: heed starts, says so, and goes on.
	if err := os.WriteFile(db, []byte(strings.Repeat("noise", 100_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	p = round()
	if !strings.Contains(p.log(), "robots.txt store file is damaged: moved aside, begun anew") {
		t.Errorf("log: %s", p.log())
	}
	if _, most := m.counts(); most != 2 {
		t.Errorf("one origin was asked %d times, want 2", most)
	}
}
