package audit

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"heed/proxy"
)

// disk accepts octets until it is full.
type disk struct {
	text strings.Builder
	room int
}

func (d *disk) Write(p []byte) (int, error) {
	n := min(len(p), d.room)
	d.room -= n
	d.text.Write(p[:n])
	if n < len(p) {
		return n, errors.New("no space left")
	}
	return n, nil
}

func TestAPartialLineIsEndedByTheNextRecord(t *testing.T) {
	var told []error
	d := &disk{room: 10}
	w := open(t, Options{Path: "-", Stdout: d, OnError: func(err error) { told = append(told, err) }})
	whole := string(Append(nil, &proxy.Record{}, QueryKeep)) + "\n"

	w.Record(&proxy.Record{}) // in part
	w.Record(&proxy.Record{}) // not at all
	if err := w.Healthy(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("Healthy on a full disk: %v", err)
	}
	d.room = 1 << 20
	w.Record(&proxy.Record{})
	w.Record(&proxy.Record{})
	if want := whole[:10] + "\n" + whole + whole; d.text.String() != want {
		t.Errorf("log:\ngot  %q\nwant %q", d.text.String(), want)
	}
	if err := w.Healthy(); err != nil {
		t.Errorf("Healthy after a good write: %v", err)
	}
	d.room = 0
	w.Record(&proxy.Record{})
	if w.Written() != 2 || w.Failed() != 3 || len(told) != 2 {
		t.Errorf("written %d, failed %d, told %v; want 2, 3, and one for each run of failures", w.Written(), w.Failed(), told)
	}
}

// short breaks the contract of io.Writer.
type short struct{}

func (short) Write(p []byte) (int, error) { return len(p) - 1, nil }

func TestAShortWriteIsAFailure(t *testing.T) {
	w := open(t, Options{Path: "-", Stdout: short{}})
	w.Record(&proxy.Record{})
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
	close(s.release)
	wg.Wait()
}

func TestFullDevice(t *testing.T) {
	const path = "/dev/full"
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no %s on this system", path)
	}
	told := 0
	w := open(t, Options{Path: path, OnError: func(error) { told++ }})
	w.Record(&proxy.Record{})
	w.Record(&proxy.Record{})
	if w.Healthy() == nil || w.Failed() != 2 || w.Written() != 0 || told != 1 {
		t.Errorf("healthy %v, failed %d, written %d, told %d; want an error, 2, 0, 1", w.Healthy(), w.Failed(), w.Written(), told)
	}
	if err := w.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
