package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"heed/proxy"
)

// disk fails every so often, after a part of what it is given.
type disk struct {
	text   []byte
	random *rand.Rand
	whole  atomic.Bool // from now on it works
	refuse atomic.Bool // and until then it takes nothing at all
}

func (d *disk) Write(p []byte) (int, error) {
	n := len(p)
	if d.refuse.Load() {
		return 0, errors.New("no space left")
	}
	if !d.whole.Load() && d.random.IntN(3) > 0 {
		switch d.random.IntN(4) {
		case 0:
			n = 0
		case 1:
			n = 1
		case 2:
			n-- // all but a newline
		default:
			n = d.random.IntN(n)
		}
	}
	d.text = append(d.text, p[:n]...)
	if n < len(p) {
		return n, errors.New("no space left")
	}
	return n, nil
}

func TestADiskThatFailsLosesNothing(t *testing.T) {
	const rounds, each = 200, 3
	for _, key := range [][]byte{nil, []byte("0123456789abcdef")} {
		d := &disk{random: rand.New(rand.NewPCG(1, 2))}
		w := open(t, Options{Path: "-", Stdout: d, Chain: true, Key: key})
		for i := range rounds {
			for j := range each {
				w.Record(&proxy.Record{ID: fmt.Sprint(i*each + j)})
			}
			written(t, w)
		}
		failed := w.Failed()
		d.whole.Store(true)
		written(t, w)
		if err := w.Healthy(); err != nil {
			t.Errorf("Healthy after a good write: %v", err)
		}
		if err := w.Close(); err != nil || w.Lost() > 0 || failed == 0 {
			t.Errorf("Close: %v, lost %d, failed %d; want nil, 0, some", err, w.Lost(), failed)
		}
		v := verify(t, key, string(d.text))
		if v.Torn == 0 || v.Records != rounds*each+v.Torn {
			t.Errorf("%d lines in the chain, %d tell of torn ones; want %d more than those", v.Records, v.Torn, rounds*each)
		}
		if w.Written() != rounds*each {
			t.Errorf("written %d, want %d", w.Written(), rounds*each)
		}
		checkIDs(t, string(d.text), rounds*each)
	}
}

// checkIDs checks that the records of a log are numbered from 0 to n-1, in order.
func checkIDs(t *testing.T, text string, n int) {
	t.Helper()
	next := 0
	for line := range strings.Lines(text) {
		var r struct{ ID string }
		if json.Unmarshal([]byte(line), &r) != nil || r.ID == "" {
			continue
		}
		if r.ID != fmt.Sprint(next) {
			t.Fatalf("record %s where %d belongs", r.ID, next)
		}
		next++
	}
	if next != n {
		t.Errorf("%d records, want %d", next, n)
	}
}

// short breaks the contract of io.Writer.
type short struct{}

func (short) Write(p []byte) (int, error) { return len(p) - 1, nil }

func TestAShortWriteIsAFailure(t *testing.T) {
	w := open(t, Options{Path: "-", Stdout: short{}})
	w.Record(&proxy.Record{})
	written(t, w)
	if err := w.Healthy(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v, want %v", err, io.ErrShortWrite)
	}
}

// stuck blocks until it is released.
type stuck struct{ entered, release chan struct{} }

func (s stuck) Write(p []byte) (int, error) {
	close(s.entered)
	<-s.release
	return len(p), nil
}

func TestHealthyDoesNotWaitForAWrite(t *testing.T) {
	s := stuck{make(chan struct{}), make(chan struct{})}
	w := open(t, Options{Path: "-", Stdout: s})
	var wg sync.WaitGroup
	wg.Go(func() { w.Record(&proxy.Record{}) })
	<-s.entered
	if err := w.Healthy(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	wg.Wait() // and neither does Record
	close(s.release)
}

func TestFullDevice(t *testing.T) {
	const path = "/dev/full"
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIPPED: no %s on this system", path)
	}
	told := 0
	w := open(t, Options{Path: path, OnError: func(error) { told++ }})
	w.Record(&proxy.Record{})
	written(t, w)
	w.Record(&proxy.Record{})
	written(t, w)
	if w.Healthy() == nil || w.Failed() < 2 || w.Written() != 0 || w.Lost() != 0 {
		t.Errorf("healthy %v, failed %d, written %d, lost %d; want an error, 2 or more, 0, 0", w.Healthy(), w.Failed(), w.Written(), w.Lost())
	}
	if err := w.Close(); err == nil || w.Lost() != 2 || told != 1 {
		t.Errorf("Close: %v, lost %d, told %d; want an error, 2, 1", err, w.Lost(), told)
	}
}
