package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// follower is a Follow that runs.
type follower struct {
	t    *testing.T
	got  chan string
	done chan error
}

func follow(t *testing.T, ctx context.Context, path string) *follower {
	f := &follower{t, make(chan string, 1000), make(chan error, 1)}
	go func() {
		f.done <- Follow(ctx, path, func() error { return nil }, func(line []byte) error {
			var e Entry
			if err := e.Parse(line); err != nil {
				return err
			}
			f.got <- string(e.ID)
			return nil
		})
	}()
	return f
}

// want waits for the records from one number up to before another.
func (f *follower) want(from, to int) {
	f.t.Helper()
	for i := from; i < to; i++ {
		select {
		case id := <-f.got:
			if id != fmt.Sprint(i) {
				f.t.Fatalf("record %s where %d belongs", id, i)
			}
		case err := <-f.done:
			f.t.Fatalf("it ended before record %d: %v", i, err)
		case <-time.After(time.Minute):
			f.t.Fatalf("record %d does not come", i)
		}
	}
}

func TestFollowGoesOnInTheNextFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	w := open(t, Options{Path: path, Chain: true})
	ctx, cancel := context.WithCancel(t.Context())
	f := follow(t, ctx, path)
	next := 0
	record := func(n int) {
		for range n {
			w.Record(numbered(next))
			next++
		}
		written(t, w)
	}
	for round := range 5 {
		from := next
		record(20)
		if round%2 == 0 {
			f.want(from, next)
			from = next
			record(20) // perhaps not seen before the renaming
		}
		if err := os.Rename(path, fmt.Sprint(path, ".", round)); err != nil {
			t.Fatal(err)
		}
		record(1)
		f.want(from, next)
	}
	cancel()
	if err := <-f.done; err != nil {
		t.Errorf("Follow: %v", err)
	}
}

func TestFollowWaitsForTheEndOfALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	write := func(text string) {
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"event":"exchange","id":"0"}` + "\n" + `{"event":"exch`)
	ctx, cancel := context.WithCancel(t.Context())
	f := follow(t, ctx, path)
	f.want(0, 1)
	write(`ange","id":"1"}` + "\n")
	f.want(1, 2)
	if err := os.Truncate(path, 0); err != nil { // as copytruncate of logrotate does
		t.Fatal(err)
	}
	write(`{"event":"exchange","id":"2"}` + "\n")
	f.want(2, 3)
	cancel()
	if err := <-f.done; err != nil {
		t.Errorf("Follow: %v", err)
	}
	if err := Follow(t.Context(), path+".none", nil, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestLast(t *testing.T) {
	for n := range 5 {
		for lines := range 8 {
			last, want := NewLast(n), []string{}
			for i := range lines {
				last.Add(fmt.Append(nil, i))
				if i >= lines-n {
					want = append(want, fmt.Sprint(i))
				}
			}
			got := []string{}
			for _, line := range last.Lines() {
				got = append(got, string(line))
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("the last %d of %d: got %v, want %v", n, lines, got, want)
			}
		}
	}
}
