package audit

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"heed/proxy"
)

// gate is a disk that takes nothing until it is opened.
type gate struct {
	opened chan struct{}
	text   []byte
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.opened
	g.text = append(g.text, p...)
	return len(p), nil
}

func TestWritersWaitOnlyBeyondTheBound(t *testing.T) {
	const writers, each = 64, 200
	g := &gate{opened: make(chan struct{})}
	w := open(t, Options{Path: "-", Stdout: g, Chain: true})
	record := func(writer, n int) {
		w.Record(&proxy.Record{ID: fmt.Sprintf("%d-%d", writer, n), URL: "http://h.example/" + strings.Repeat("x", 700)})
	}
	// Below the bound no writer waits, though nothing is written.
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() { record(i, 0) })
	}
	wg.Wait()
	// Beyond it all of them do, and nothing is lost.
	for i := range writers {
		wg.Go(func() {
			for n := 1; n < each; n++ {
				record(i, n)
			}
		})
	}
	for full := false; !full; runtime.Gosched() {
		w.mu.Lock()
		if n := len(w.pending.text); n > maxPending {
			t.Errorf("%d octets wait, more than %d", n, maxPending)
		}
		full = w.full(1000)
		w.mu.Unlock()
	}
	close(g.opened)
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Written() != writers*each || w.Lost() != 0 || w.Failed() != 0 {
		t.Errorf("written %d, lost %d, failed %d; want %d, 0, 0", w.Written(), w.Lost(), w.Failed(), writers*each)
	}
	if v := verify(t, nil, string(g.text)); v.Records != writers*each {
		t.Errorf("%d records in the chain, want %d", v.Records, writers*each)
	}
}

func TestALogThatCannotBeWrittenLosesWhatIsBeyondTheBoundAndSaysSo(t *testing.T) {
	d := &disk{} // room for nothing
	d.refuse.Store(true)
	w := open(t, Options{Path: "-", Stdout: d, Chain: true})
	const n = 8000
	for i := range n {
		w.Record(&proxy.Record{ID: fmt.Sprint(i), URL: "http://h.example/" + strings.Repeat("x", 1000)})
	}
	written(t, w)
	if w.Writable() == nil || w.Lost() == 0 {
		t.Fatalf("writable: %v, lost %d of %d octets", w.Writable(), w.Lost(), n*1000)
	}
	d.refuse.Store(false)
	d.whole.Store(true)
	written(t, w)
	lost := w.Lost()
	if err := w.Close(); err != nil || w.Writable() != nil {
		t.Errorf("Close: %v, writable: %v", err, w.Writable())
	}
	v := verify(t, nil, string(d.text))
	if w.Written()+lost != n || v.Lost != lost || v.Records != w.Written()+1 {
		t.Errorf("written %d, lost %d of %d; the log has %d lines and tells of %d lost", w.Written(), lost, n, v.Records, v.Lost)
	}
}

func TestReopenUnderLoadLosesNothing(t *testing.T) {
	const writers, each = 64, 400
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	w := open(t, Options{Path: path, Chain: true, Rotate: Rotation{Size: 256 << 10, Compress: true}})
	var left atomic.Int64
	left.Store(writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for n := range each {
				w.Record(&proxy.Record{ID: fmt.Sprintf("%d-%d", i, n)})
			}
			left.Add(-1)
		})
	}
	for round := 0; left.Load() > 0; round++ {
		if err := os.Rename(path, fmt.Sprintf("%s.%04d", path, round)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		written(t, w)
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const total = writers * each
	if w.Written() != total || w.Lost() > 0 || w.Failed() > 0 {
		t.Errorf("written %d of %d, lost %d, failed %d", w.Written(), total, w.Lost(), w.Failed())
	}
	checkFiles(t, dir, path, total)
}

// checkFiles checks that all files of a log make one chain of so many records.
func checkFiles(t *testing.T, dir, path string, total uint64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl*"))
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]uint64{}
	names = slices.DeleteFunc(names, func(name string) bool {
		at, ok := FirstLink(name)
		first[name] = at.Seq
		return name == HeadPath(path) || !ok // one that was renamed before anything was in it
	})
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(first[a], first[b]) })
	var files []string
	for _, name := range names {
		in, err := OpenInput(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for {
			line, _, err := in.Next()
			if err != nil {
				break
			}
			text.Write(line)
			text.WriteByte('\n')
		}
		in.Close()
		files = append(files, text.String())
	}
	v, faults := findings(nil, []Link{headOf(t, path)}, files...)
	if len(faults) > 0 || v.Records != total {
		t.Errorf("%d records in %d files, want %d; faults %+v", v.Records, len(files), total, faults)
	}
}
