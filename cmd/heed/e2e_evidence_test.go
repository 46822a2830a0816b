package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"heed/internal/audit"
)

// loaded are clients that ask through a process until they are stopped.
type loaded struct {
	t       *testing.T
	stopped atomic.Bool
	count   atomic.Int64
	served  sync.Map // URL to status
	wg      sync.WaitGroup
}

// loadUp has clients ask sites for URLs that are all different.
func loadUp(t *testing.T, p *process, clients int, sites ...*site) *loaded {
	t.Helper()
	l := &loaded{t: t}
	for i := range clients {
		c, origin := p.client(i%4 == 0), sites[i%len(sites)]
		l.wg.Go(func() {
			for n := 0; !l.stopped.Load(); n++ {
				url := fmt.Sprintf("%s/%s/%d/%d", origin.URL, []string{"public", "private"}[n%2], i, n)
				a, err := fetchURL(c, url)
				if err != nil || a.status == 0 {
					return // the proxy takes no more
				}
				l.served.Store(url, a.status)
				l.count.Add(1)
			}
		})
	}
	return l
}

// reach waits until so many requests have been answered.
func (l *loaded) reach(n int64) {
	l.t.Helper()
	for end := time.Now().Add(time.Minute); l.count.Load() < n; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			l.t.Fatalf("%d requests answered, want %d", l.count.Load(), n)
		}
	}
}

// logFiles are all files of the audit log of a process, the oldest first.
func (p *process) logFiles() []string {
	p.t.Helper()
	names, err := filepath.Glob(filepath.Join(p.dir, "audit*.jsonl*"))
	if err != nil {
		p.t.Fatal(err)
	}
	var out []string
	for _, name := range names {
		if !strings.HasSuffix(name, ".head") {
			out = append(out, name)
		}
	}
	return out
}

// heedRun runs a command of heed's in this process.
func heedRun(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	var text bytes.Buffer
	code = run(args, env{stdin: strings.NewReader(""), stdout: &text, stderr: &text})
	return code, text.String()
}

// whole checks that the log of a process verifies, that every request answered
// has one record, and that deciding again gives the same.
func (l *loaded) whole(p *process) {
	t := l.t
	t.Helper()
	files := p.logFiles()
	args := append([]string{"audit", "verify", "--complete", "--head", audit.HeadPath(p.audit())}, files...)
	if code, out := heedRun(t, args...); code != 0 {
		t.Errorf("%v: exit %d\n%s", args, code, out)
	}
	logged := map[string]int{}
	for _, name := range files {
		in, err := audit.OpenInput(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for {
			line, _, err := in.Next()
			if err == io.EOF {
				break
			}
			var e audit.Entry
			if err != nil || e.Parse(line) != nil {
				t.Fatalf("%s: %v: %s", name, err, line)
			}
			logged[string(e.URL)]++
		}
		in.Close()
	}
	n := 0
	l.served.Range(func(url, status any) bool {
		n++
		if logged[url.(string)] != 1 {
			t.Errorf("%s was answered %v and has %d records", url, status, logged[url.(string)])
		}
		return !t.Failed()
	})
	args = append([]string{"audit", "replay", "--bodies", filepath.Join(p.dir, "bodies")}, files...)
	if code, out := heedRun(t, args...); code != 0 {
		t.Errorf("%v: exit %d\n%s", args, code, out)
	}
	t.Logf("%d answered, %d URLs in %d files", n, len(logged), len(files))
}

func evidenceSites(t *testing.T) []*site {
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private\n")
			return
		}
		_, _ = io.WriteString(w, "from the origin")
	}
	return []*site{newSite(t, false, false, "", handler), newSite(t, true, true, "", handler)}
}

func TestRotationAndRenamingUnderLoadLoseNothing(t *testing.T) {
	sites := evidenceSites(t)
	p := startProcess(t, sites, "HEED_AUDIT_ROTATE_SIZE=64KiB", "HEED_AUDIT_BODIES=bodies")
	l := loadUp(t, p, 16, sites...)
	for i := range 4 {
		l.reach(int64(150 * (i + 1)))
		// As logrotate does, but for the signal. heed may be rotating itself just now.
		err := os.Rename(p.audit(), filepath.Join(p.dir, fmt.Sprintf("audit.old%d.jsonl", i)))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	l.reach(900)
	if err := p.terminate(); err != nil { // in the middle of it all
		t.Errorf("exit: %v\n%s", err, p.log())
	}
	l.stopped.Store(true)
	l.wg.Wait()
	if n := len(p.logFiles()); n < 5 {
		t.Errorf("%d files, want more", n)
	}
	l.whole(p)
}

func TestKilledUnderLoadTheChainGoesOn(t *testing.T) {
	sites := evidenceSites(t)
	p := startProcess(t, sites, "HEED_AUDIT_BODIES=bodies")
	for range 3 {
		l := loadUp(t, p, 8, sites...)
		l.reach(100)
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		l.stopped.Store(true)
		l.wg.Wait()
		p.again()
	}
	if err := p.terminate(); err != nil {
		t.Errorf("exit: %v\n%s", err, p.log())
	}
	(&loaded{t: t}).whole(p)
}

func TestNothingIsCarriedWithoutALogThatIsRequired(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skipf("SKIPPED: no %s on this system", full)
	}
	sites := evidenceSites(t)
	link := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.Symlink(full, link); err != nil {
		t.Fatal(err)
	}
	p := startProcess(t, sites, "HEED_AUDIT_REQUIRED=true", "HEED_AUDIT_PATH="+link)
	c := p.client(false)
	until := func(what string, done func(answer) bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			a, err := fetchURL(c, sites[0].URL+"/public")
			if err == nil && done(a) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %d %v %s", what, a.status, err, a.body)
			}
		}
	}
	until("refused", func(a answer) bool { return a.status == 503 && strings.Contains(a.body, `"reason":"internal"`) })
	if code, out := heedRun(t, "health", "--admin", p.admin); code != exitDisallow || !strings.Contains(out, "not ready: audit") {
		t.Errorf("health: exit %d, %s", code, out)
	}
	// Somebody makes room.
	log := filepath.Join(p.dir, "room.jsonl")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(log, link+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link+".new", link); err != nil {
		t.Fatal(err)
	}
	until("carried again", func(a answer) bool { return a.status == 200 })
	if code, out := heedRun(t, "health", "--admin", p.admin); code != 0 {
		t.Errorf("health: exit %d, %s", code, out)
	}
	if err := p.terminate(); err != nil {
		t.Errorf("exit: %v\n%s", err, p.log())
	}
	if code, out := heedRun(t, "audit", "verify", "--complete", log); code != 0 {
		t.Errorf("verify: exit %d\n%s", code, out)
	}
}
