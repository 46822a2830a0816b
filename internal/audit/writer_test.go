package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"heed/policy"
	"heed/proxy"
)

func open(t *testing.T, o Options) *Writer {
	t.Helper()
	w, err := Open(o)
	if err != nil {
		t.Fatalf("Open(%+v): %v", o, err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// written waits until w has tried to write what was recorded.
func written(t *testing.T, w *Writer) {
	t.Helper()
	if err := w.Reopen(); err != nil {
		t.Fatalf("Reopen: %v", err)
	}
}

func TestFileHoldsARecordBeforeItIsClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	w := open(t, Options{Path: path})
	w.Record(refusal())
	written(t, w)
	want := string(Append(nil, refusal(), QueryKeep)) + "\n"
	if got := read(t, path); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if info, _ := os.Stat(path); runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode().Perm())
	}
	if err := w.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
	w.Record(refusal())
	if err := w.Healthy(); !errors.Is(err, os.ErrClosed) || w.Written() != 1 || w.Failed() != 1 {
		t.Errorf("after Close: healthy %v, written %d, failed %d; want closed, 1, 1", err, w.Written(), w.Failed())
	}
}

func TestFileIsAppendedTo(t *testing.T) {
	tests := []struct{ name, before, between string }{
		{"empty", "", ""},
		{"whole lines", "{}\n", ""},
		{"an incomplete last line", "{}\n{\"ti", "\n" + `{"time":"","event":"torn","enforced":false,"intercepted":false,` +
			`"error":"the line before this record was not written to its end",` +
			`"torn":{"bytes":4,"sha256":"6d59c1831bd020a1b09a08577646a9ee10b04a4fca24bf4651355002ff0b0594"}}` + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			if err := os.WriteFile(path, []byte(tt.before), 0o600); err != nil {
				t.Fatal(err)
			}
			w := open(t, Options{Path: path})
			w.Record(&proxy.Record{})
			written(t, w)
			want := tt.before + tt.between + string(Append(nil, &proxy.Record{}, QueryKeep)) + "\n"
			if got := withoutTimes(read(t, path)); got != want {
				t.Errorf("after %q: got %q, want %q", tt.before, got, want)
			}
		})
	}
}

func TestEventsAndTargets(t *testing.T) {
	verdicts := []policy.Verdict{policy.Allow, policy.Disallow, policy.Error}
	tests := []struct {
		name string
		opts Options
		want uint64
	}{
		{"all by default", Options{Path: "-"}, 6},
		{"all", Options{Path: "-", Events: EventsAll}, 6},
		{"refused, in monitor mode too", Options{Path: "-", Events: EventsRefused}, 4},
		{"off", Options{}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			tt.opts.Stdout = &out
			w := open(t, tt.opts)
			for _, v := range verdicts {
				w.Record(&proxy.Record{Decision: policy.Decision{Verdict: v}, Enforced: true})
				w.Record(&proxy.Record{Decision: policy.Decision{Verdict: v}})
			}
			written(t, w)
			if lines := strings.Count(out.String(), "\n"); w.Written() != tt.want || uint64(lines) != tt.want {
				t.Errorf("%+v: written %d, %d lines; want %d", tt.opts, w.Written(), lines, tt.want)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, o := range map[string]Options{
		"unknown events":       {Path: "", Events: "some"},
		"unknown query":        {Path: "", Query: "hash"},
		"no standard output":   {Path: "-"},
		"a folder":             {Path: t.TempDir()},
		"a folder not present": {Path: filepath.Join(t.TempDir(), "no", "audit.jsonl")},
	} {
		t.Run(name, func(t *testing.T) {
			if w, err := Open(o); err == nil {
				w.Close()
				t.Errorf("Open(%+v) succeeded", o)
			}
		})
	}
}

func TestConcurrentRecordsStayWhole(t *testing.T) {
	const writers, each = 64, 50
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	w := open(t, Options{Path: path})
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for j := range each {
				w.Record(&proxy.Record{ID: fmt.Sprint(i, "-", j), URL: strings.Repeat("x", 7*i)})
			}
		})
	}
	wg.Wait()
	written(t, w)
	seen := map[string]bool{}
	lines := bufio.NewScanner(strings.NewReader(read(t, path)))
	for lines.Scan() {
		var r struct{ ID string }
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		seen[r.ID] = true
	}
	if len(seen) != writers*each || w.Written() != writers*each {
		t.Errorf("%d records, %d counted; want %d", len(seen), w.Written(), writers*each)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAFileThatWasRenamedOrRemovedIsOpenedAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	w := open(t, Options{Path: path})
	w.Record(&proxy.Record{ID: "1"})
	written(t, w)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	w.Record(&proxy.Record{ID: "2"})
	written(t, w)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.Record(&proxy.Record{ID: "3"})
	written(t, w)
	for name, want := range map[string]int{path + ".1": 1, path: 1} {
		if got := strings.Count(read(t, name), "\n"); got != want {
			t.Errorf("%s holds %d records, want %d", filepath.Base(name), got, want)
		}
	}
}

var timesInText = regexp.MustCompile(`"time":"[^"]*"`)

func withoutTimes(text string) string { return timesInText.ReplaceAllString(text, `"time":""`) }
