package bodies

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func sum(body string) string {
	s := sha256.Sum256([]byte(body))
	return hex.EncodeToString(s[:])
}

func open(t *testing.T) (*Folder, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a", "bodies")
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f, dir
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestKeepAndRead(t *testing.T) {
	f, dir := open(t)
	for _, body := range []string{"", "User-agent: *\nDisallow: /\n", "\x00\xff"} {
		if err := f.Keep(sum(body), []byte(body), "https://h.example", "https://h.example/robots.txt", noon); err != nil {
			t.Fatalf("Keep %q: %v", body, err)
		}
		if got, err := Read(dir, sum(body)); err != nil || string(got) != body {
			t.Errorf("Read: got %q, %v; want %q", got, err, body)
		}
	}
	if _, err := Read(dir, sum("other")); !errors.Is(err, ErrNotKept) {
		t.Errorf("Read of what was not kept: %v", err)
	}
	for _, name := range []string{"", "..", strings.Repeat("A", 64), "../" + strings.Repeat("a", 61)} {
		if _, err := Read(dir, name); err == nil || errors.Is(err, ErrNotKept) {
			t.Errorf("Read(%q): %v, want that it is no SHA-256", name, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*", ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestDamageIsFoundAndMended(t *testing.T) {
	f, dir := open(t)
	const body = "Disallow: /"
	keep := func() error { return f.Keep(sum(body), []byte(body), "http://h", "http://h/robots.txt", noon) }
	if err := keep(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path(dir, sum(body)), []byte("Disallow:"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(dir, sum(body)); err == nil {
		t.Errorf("Read of a changed body: %q", got)
	}
	if err := keep(); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(dir, sum(body)); err != nil || string(got) != body {
		t.Errorf("Read: got %q, %v", got, err)
	}
}

func TestKeepRefusesAnotherBody(t *testing.T) {
	f, dir := open(t)
	if err := f.Keep(sum("a"), []byte("b"), "http://h", "http://h/robots.txt", noon); err == nil || f.Healthy() == nil {
		t.Errorf("Keep: %v, Healthy: %v; want errors", err, f.Healthy())
	}
	if _, err := Read(dir, sum("a")); !errors.Is(err, ErrNotKept) {
		t.Errorf("Read: %v", err)
	}
	if err := f.Keep(sum("a"), []byte("a"), "http://h", "http://h/robots.txt", noon); err != nil || f.Healthy() != nil {
		t.Errorf("Keep: %v, Healthy: %v", err, f.Healthy())
	}
}

func TestSeen(t *testing.T) {
	f, dir := open(t)
	see := func(origin string, at time.Time) {
		if err := f.Keep(sum("x"), []byte("x"), origin, origin+"/robots.txt", at); err != nil {
			t.Fatal(err)
		}
	}
	see("http://a", noon)
	see("http://b", noon.Add(time.Hour))
	for i := range 30 {
		see("http://a", noon.Add(time.Duration(i)*2*time.Hour))
	}
	data, err := os.ReadFile(index(dir, sum("x")))
	if err != nil || bytes.Count(data, []byte{'\n'}) != 4 { // a three times, b once
		t.Errorf("index %s, %v; want 4 lines", data, err)
	}
	if err := os.WriteFile(index(dir, sum("x")), append(data, "{\"orig"...), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Seen(dir, sum("x"))
	want := []Sighting{
		{"http://a", "http://a/robots.txt", noon, noon.Add(48 * time.Hour)},
		{"http://b", "http://b/robots.txt", noon.Add(time.Hour), noon.Add(time.Hour)},
	}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Seen: got %v, %v; want %v", got, err, want)
	}
	if none, err := Seen(dir, sum("y")); err != nil || none != nil {
		t.Errorf("Seen of what was not: %v, %v", none, err)
	}
}

func TestManyKeepTheSame(t *testing.T) {
	f, dir := open(t)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			body := fmt.Sprint("Disallow: /", i%3)
			if err := f.Keep(sum(body), []byte(body), fmt.Sprint("http://h", i), "", noon); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 3 {
		body := fmt.Sprint("Disallow: /", i)
		if _, err := Read(dir, sum(body)); err != nil {
			t.Error(err)
		}
		if seen, err := Seen(dir, sum(body)); err != nil || len(seen) < 10 {
			t.Errorf("%d sightings, %v", len(seen), err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); err == nil {
		t.Error("a file was opened as a folder")
	}
}
