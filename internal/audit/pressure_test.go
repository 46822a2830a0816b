package audit

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
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
