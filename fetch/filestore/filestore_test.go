package filestore_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"heed/fetch"
	"heed/fetch/filestore"
	"heed/policy"
)

// writerEnv makes the test binary a process that writes to a store until it is
// killed.
const writerEnv = "HEED_TEST_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerEnv); path != "" {
		writeForever(path, os.Getenv(writerEnv+"_FROM"))
	}
	// What a panic leaves locked in a damaged file cannot be freed.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("go.etcd.io/bbolt.(*DB).Update"))
}

// logText is a log that may still be written to while it is read.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func open(t *testing.T, path string, log *logText) *filestore.Store {
	t.Helper()
	if log == nil {
		log = new(logText)
	}
	s, err := filestore.Open(path, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

func bodyOf(i int) []byte {
	return []byte(fmt.Sprintf("User-agent: *\nDisallow: /%d\n%s", i, strings.Repeat("# filler\n", 40)))
}

func entryOf(i int, keep time.Duration) fetch.Entry {
	now := time.UnixMilli(time.Now().UnixMilli())
	return fetch.Entry{
		Origin: fmt.Sprintf("https://h%d.example", i), Result: policy.Successful, Status: 200, SHA256: digest(bodyOf(i)), ETag: fmt.Sprint(i),
		Retrieved: now, Updated: now, Fresh: now.Add(time.Hour), Keep: now.Add(keep), Declared: -time.Millisecond,
	}
}

// saveAll saves n entries at once.
func saveAll(t *testing.T, s *filestore.Store, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := s.Save(t.Context(), entryOf(i, time.Hour), bodyOf(i)); err != nil {
				t.Errorf("save %d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

// missing returns what is wrong with the stored form of i, "" when nothing is.
func missing(s *filestore.Store, i int) string {
	e, err := s.Load(context.Background(), entryOf(i, 0).Origin)
	if err != nil {
		return err.Error()
	}
	body, err := s.Body(context.Background(), e.SHA256)
	if err != nil || string(body) != string(bodyOf(i)) || e.ETag != fmt.Sprint(i) {
		return fmt.Sprintf("body %q, %v", body, err)
	}
	return ""
}

func TestWhatIsSavedIsThereAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robots.db")
	s := open(t, path, nil)
	ctx := t.Context()
	want := entryOf(1, time.Hour)
	if err := s.Save(ctx, want, bodyOf(1)); err != nil {
		t.Fatal(err)
	}
	shared := entryOf(2, time.Hour)
	shared.SHA256 = want.SHA256
	none := fetch.Entry{Origin: "https://none.example", Result: policy.Unavailable, Status: 404, Updated: want.Updated, Keep: want.Keep}
	for _, e := range []fetch.Entry{shared, none} {
		if err := s.Save(ctx, e, bodyOf(1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, nil)
	for _, want := range []fetch.Entry{want, shared, none} {
		if got, err := s.Load(ctx, want.Origin); err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
	n := 0
	for _, err := range s.Entries(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 3 {
		t.Errorf("%d entries, want 3", n)
	}
	if err := s.Delete(ctx, want.Origin); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(ctx, want.Origin); !errors.Is(err, fetch.ErrNotStored) {
		t.Errorf("deleted: %v", err)
	}
	if _, err := s.Body(ctx, strings.Repeat("0", 64)); !errors.Is(err, fetch.ErrNotStored) {
		t.Errorf("no such body: %v", err)
	}
}

func TestAFileHasOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robots.db")
	open(t, path, nil)
	start := time.Now()
	_, err := filestore.Open(path, slog.New(slog.DiscardHandler))
	if took := time.Since(start); !errors.Is(err, filestore.ErrLocked) || took > time.Second {
		t.Errorf("got %v after %v, want %v within a second", err, took, filestore.ErrLocked)
	}
	if _, err := filestore.Open(filepath.Join(path, "x"), slog.New(slog.DiscardHandler)); err == nil || errors.Is(err, filestore.ErrLocked) {
		t.Errorf("a path that cannot be: %v", err)
	}
}

// A file that was cut short, or overwritten anywhere, is moved aside or has lost
// what was hit. Either way heed goes on, and reads nothing that was not saved.
func TestDamageIsMovedAside(t *testing.T) {
	const n = 300
	path := filepath.Join(t.TempDir(), "robots.db")
	s := open(t, path, nil)
	saveAll(t, s, n)
	s.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	noise := func(data []byte, from, to int) []byte {
		r := rand.New(rand.NewPCG(uint64(from), uint64(to)))
		for i := from; i < to && i < len(data); i++ {
			data[i] = byte(r.Uint32())
		}
		return data
	}
	cases := map[string]func([]byte) []byte{
		"empty":          func([]byte) []byte { return nil },
		"one octet":      func(d []byte) []byte { return d[:1] },
		"one page":       func(d []byte) []byte { return d[:4096] },
		"two pages":      func(d []byte) []byte { return d[:8192] },
		"half":           func(d []byte) []byte { return d[:len(d)/2] },
		"a little short": func(d []byte) []byte { return d[:len(d)-5000] },
		"all noise":      func(d []byte) []byte { return noise(d, 0, len(d)) },
		"text":           func([]byte) []byte { return []byte(strings.Repeat("not a database\n", 5000)) },
		"zeros":          func(d []byte) []byte { return make([]byte, len(d)) },
	}
	for from := 0; from < len(whole); from += len(whole) / 20 {
		cases[fmt.Sprintf("noise at %d", from)] = func(d []byte) []byte { return noise(d, from, from+6000) }
	}
	for name, harm := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "robots.db")
			if err := os.WriteFile(path, harm(append([]byte{}, whole...)), 0o600); err != nil {
				t.Fatal(err)
			}
			var log logText
			s := open(t, path, &log)
			aside, _ := filepath.Glob(path + ".damaged-*")
			if (len(aside) == 1) != strings.Contains(log.String(), "is damaged: moved aside") {
				t.Errorf("moved aside: %q; log: %s", aside, &log)
			}
			lost := 0
			for i := range n {
				e, err := s.Load(t.Context(), entryOf(i, 0).Origin)
				if err != nil {
					lost++
					continue
				}
				// A body is judged by its name, as fetch does.
				if body, err := s.Body(t.Context(), e.SHA256); err != nil || digest(body) != e.SHA256 {
					lost++
				}
				if e.ETag != fmt.Sprint(i) || e.Status != 200 {
					t.Errorf("entry %d reads as %+v", i, e)
				}
			}
			if len(aside) == 1 && lost != n {
				t.Errorf("a new file has %d entries", n-lost)
			}
			saveAll(t, s, n)
			for i := range n {
				if why := missing(s, i); why != "" {
					t.Fatalf("goes on: %s", why)
				}
			}
		})
	}
}

// The same while it is open: reads that meet it fail, then there is a new file.
func TestDamageToAnOpenFileIsMovedAside(t *testing.T) {
	for name, harm := range map[string]func(*os.File, int64){
		"cut short": func(f *os.File, _ int64) { f.Truncate(4096) },
		"noise": func(f *os.File, size int64) {
			f.WriteAt([]byte(strings.Repeat("noise", int(size/5))), 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "robots.db")
			var log logText
			s := open(t, path, &log)
			saveAll(t, s, 200)
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			harm(f, info.Size())
			f.Close()
			failed := 0
			for i := range 200 {
				if _, err := s.Load(t.Context(), entryOf(i, 0).Origin); err != nil {
					failed++
				}
			}
			saveAll(t, s, 200)
			for i := range 200 {
				if why := missing(s, i); why != "" {
					t.Fatalf("goes on: %s", why)
				}
			}
			if failed == 0 || !strings.Contains(log.String(), "moved aside") {
				t.Errorf("%d of 200 reads failed; log: %s", failed, &log)
			}
		})
	}
}

// writeForever saves entries and says which, until it is killed.
func writeForever(path, from string) {
	s, err := filestore.Open(path, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var first int
	fmt.Sscan(from, &first)
	var mu sync.Mutex
	next := first
	for range 50 {
		go func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if err := s.Save(context.Background(), entryOf(i, time.Hour), bodyOf(i)); err != nil {
					fmt.Println("error", err)
					os.Exit(1)
				}
				mu.Lock()
				fmt.Println("saved", i) // one write, so that none is half said
				mu.Unlock()
			}
		}()
	}
	select {}
}

// kill -9 in the middle of writing ten thousand entries, ten times: what was
// reported saved is there. This is the safety of a process that crashes; power
// loss rests on bbolt's fsync.
func TestNothingSavedIsLostByKill(t *testing.T) {
	rounds, each := 3, 300
	if os.Getenv("TEST_FULL") != "" {
		rounds, each = 10, 1000
	}
	path := filepath.Join(t.TempDir(), "robots.db")
	saved := map[int]bool{}
	next := 0
	for round := range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), writerEnv+"="+path, fmt.Sprintf("%s_FROM=%d", writerEnv, next))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines, n := bufio.NewScanner(out), 0
		for lines.Scan() {
			var i int
			if _, err := fmt.Sscanf(lines.Text(), "saved %d", &i); err != nil {
				t.Fatalf("round %d: %q", round, lines.Text())
			}
			saved[i], next = true, max(next, i+1)
			if n++; n == each {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait()
		var log logText
		s := open(t, path, &log)
		for i := range saved {
			if why := missing(s, i); why != "" {
				t.Fatalf("round %d: %d was reported saved: %s", round, i, why)
			}
		}
		if log.String() != "" {
			t.Errorf("round %d: %s", round, &log)
		}
		s.Close()
	}
	t.Logf("%d entries saved in %d rounds, each ended by kill -9, none lost", len(saved), rounds)
}

func TestSweepRemovesWhatIsOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robots.db")
	s := open(t, path, nil)
	for i := range 20 {
		keep := time.Hour
		if i%2 == 0 {
			keep = -time.Second
		}
		if err := s.Save(t.Context(), entryOf(i, keep), bodyOf(i)); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	s = open(t, path, nil) // which sweeps
	gone := func(i int) bool {
		_, err := s.Load(t.Context(), entryOf(i, 0).Origin)
		_, none := s.Body(t.Context(), digest(bodyOf(i)))
		return errors.Is(err, fetch.ErrNotStored) && errors.Is(none, fetch.ErrNotStored)
	}
	for deadline := time.Now().Add(5 * time.Second); !gone(18) && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	for i := range 20 {
		if gone(i) != (i%2 == 0) {
			t.Errorf("entry %d gone: %v", i, gone(i))
		}
	}
}
