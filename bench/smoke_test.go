package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"heed/bench/load"
	"heed/bench/origin"
	"heed/bench/peer"
	"heed/bench/process"
	"heed/bench/report"
	"heed/internal/testtool"
)

// output writes to the test's log.
type output struct{ t *testing.T }

func (o output) Write(text []byte) (int, error) {
	o.t.Logf("%s", bytes.TrimSpace(text))
	return len(text), nil
}

func needOrigin(t *testing.T) {
	t.Helper()
	if _, err := process.Find("nginx"); err != nil {
		testtool.Missing(t, "nginx is not installed")
	}
}

// Everybody who is installed does every work for a moment. With -short one work
// of each kind.
func TestHarness(t *testing.T) {
	needOrigin(t)
	o := options{rounds: 2, span: 200 * time.Millisecond, connections: 20, pause: 100 * time.Millisecond, progress: output{t}}
	if testing.Short() {
		o.rounds = 1
		o.only = []string{"plain", "intercept-h2", "intercept-hosts", "tunnel-10m", memory}
	}
	r, err := measure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range r.Tables {
		if len(table.Rows) < 3 { // direct, heed, and at least one that Go programmers write or that comes with it
			t.Errorf("%s: only %d rows", table.Work, len(table.Rows))
		}
		for _, row := range table.Rows {
			checkRow(t, table.Work, row, o.rounds)
		}
	}
	for _, m := range r.Memory {
		if len(m.Errors) > 0 || m.Idle.Median <= 0 || m.Plain.Median <= 0 && m.Intercepted.Median <= 0 {
			t.Errorf("memory of %s: %+v", m.Peer, m)
		}
	}
	checkOutput(t, r)
	if len(r.Missing) > 0 {
		testtool.Missing(t, strings.Join(r.Missing, ", ")+" not installed: compared with the others alone")
	}
}

func checkRow(t *testing.T, work string, row report.Row, rounds int) {
	t.Helper()
	direct := row.Peer == "direct"
	if len(row.Errors) > 0 || row.Rate.N != rounds || row.Rate.Min <= 0 || row.RateRatio.N != rounds || row.RateRatio.Min <= 0 {
		t.Errorf("%s, %s: %+v", work, row.Peer, row)
	}
	if direct != (row.Resident.N == 0) || !direct && row.Resident.Min <= 0 {
		t.Errorf("%s, %s: resident %+v", work, row.Peer, row.Resident)
	}
	if row.Peer == report.Base && (row.RateRatio.Min != 1 || row.RateRatio.Max != 1) {
		t.Errorf("%s: heed is %+v times as good as itself", work, row.RateRatio)
	}
}

func checkOutput(t *testing.T, r *report.Report) {
	t.Helper()
	var markdown, machine bytes.Buffer
	if err := r.Markdown(&markdown); err != nil {
		t.Error(err)
	}
	if err := r.JSON(&machine); err != nil {
		t.Error(err)
	}
	var again report.Report
	if err := json.Unmarshal(machine.Bytes(), &again); err != nil || len(again.Tables) != len(r.Tables) {
		t.Errorf("JSON: %v, %d works, want %d", err, len(again.Tables), len(r.Tables))
	}
	for _, table := range r.Tables {
		for _, text := range []string{"### " + table.Work + "\n", "| heed | ", "| direct | "} {
			if !strings.Contains(markdown.String(), text) {
				t.Errorf("no %q in the Markdown", text)
			}
		}
	}
}

// The heed that is measured enforces the origin's rules and writes records with
// or without a chain, as its name says.
func TestHeedIsAsShipped(t *testing.T) {
	needOrigin(t)
	if n := strings.Count(origin.Robots, "llow: ") - 1; n != 30 { // one is another agent's
		t.Errorf("%d rules", n)
	}
	dir := t.TempDir()
	all, _, err := peer.Find(t.Context(), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	o, err := origin.Start(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Stop)
	all = slices.DeleteFunc(all, func(p peer.Peer) bool { return !strings.HasPrefix(p.Name, report.Base) })
	for _, p := range all {
		running, err := p.Start(t.Context(), dir, load.Plain, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(running.Stop)
		tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: running.Address}), DisableKeepAlives: true}
		for path, want := range map[string]int{origin.Small: 200, "/cgi-bin/0/": 403, "/robots.txt": 200} {
			if got := status(t.Context(), tr, "http://"+o.Plain+path); got != want {
				t.Errorf("%s: %s: status %d, want %d", p.Name, path, got, want)
			}
		}
	}
}

func status(ctx context.Context, tr *http.Transport, target string) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return 0
	}
	res, err := tr.RoundTrip(r)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res.StatusCode
}

func TestNamesThatNobodyHas(t *testing.T) {
	b := &bench{options: options{only: []string{"plain", "proxy-of-the-year"}}}
	if err := b.choose([]peer.Peer{peer.Direct()}); err == nil || !strings.Contains(err.Error(), "proxy-of-the-year; there are plain, ") {
		t.Errorf("got %v", err)
	}
	b = &bench{options: options{only: []string{"direct", "memory"}}}
	if err := b.choose([]peer.Peer{{Name: "heed"}, peer.Direct()}); err != nil || len(b.works) != 0 || !b.memory || len(b.peers) != 1 {
		t.Errorf("got %v, %d works, memory %t, %d peers", err, len(b.works), b.memory, len(b.peers))
	}
}

// Nothing is left of a run that is interrupted: no process, no file.
func TestInterrupted(t *testing.T) {
	needOrigin(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := options{only: []string{"intercept", "plain", "heed", "goproxy"}, rounds: 50, span: time.Second}
	measured := make(chan struct{})
	o.progress = first(measured)
	ended := make(chan error)
	go func() {
		_, err := measure(ctx, o)
		ended <- err
	}()
	<-measured
	if ours := processes(t, dir); len(ours) < 2 { // the origin and heed, at the least
		t.Errorf("only %q run", ours)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("no error")
	}
	if left := processes(t, dir); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files left: %v %v", left, err)
	}
}

// first closes a channel when the first measurement is told of.
func first(measured chan struct{}) io.Writer {
	return writerFunc(func(text []byte) (int, error) {
		if bytes.Contains(text, []byte("req/s")) && measured != nil {
			close(measured)
			measured = nil
		}
		return len(text), nil
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(text []byte) (int, error) { return f(text) }

// processes are the command lines that name the folder.
func processes(t *testing.T, dir string) (lines []string) {
	t.Helper()
	ids, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		line, err := os.ReadFile("/proc/" + id.Name() + "/cmdline")
		if err == nil && bytes.Contains(line, []byte(dir)) {
			lines = append(lines, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return lines
}
