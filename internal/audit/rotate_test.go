package audit

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRotationBySize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	const size = 5000
	writeLog(t, Options{Path: path, Rotate: Rotation{Size: size}}, 0, 100)
	names, err := PutAside(path)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, name := range append(names, path) {
		text := read(t, name)
		if len(text) > size || len(text) == 0 {
			t.Errorf("%s has %d octets, want at most %d", filepath.Base(name), len(text), size)
		}
		files = append(files, text)
	}
	if len(files) < 10 {
		t.Errorf("%d files", len(files))
	}
	verify(t, nil, files...)
	checkIDs(t, strings.Join(files, ""), 100)
}

func TestARecordLongerThanAFileHasOneOfItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	writeLog(t, Options{Path: path, Rotate: Rotation{Size: 10}}, 0, 3)
	names, err := PutAside(path)
	if err != nil || len(names) != 2 {
		t.Errorf("put aside: %q, %v; want 2", names, err)
	}
}

func TestRotationByPeriod(t *testing.T) {
	r := Rotation{Every: 24 * time.Hour}
	file, err := openLog(filepath.Join(t.TempDir(), "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.close()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	file.last = noon
	if r.due(file, 0, 10, noon.Add(24*time.Hour)) {
		t.Error("an empty file is put aside")
	}
	if _, err := file.write([]byte("x\n")); err != nil {
		t.Fatal(err)
	}
	file.last = noon
	for after, want := range map[time.Duration]bool{0: false, 11 * time.Hour: false, 12 * time.Hour: true, 240 * time.Hour: true, -13 * time.Hour: true} {
		if got := r.due(file, 0, 10, noon.Add(after)); got != want {
			t.Errorf("after %v: due %t, want %t", after, got, want)
		}
	}
	if (Rotation{}).due(file, 1<<40, 10, noon.Add(1000*time.Hour)) {
		t.Error("the zero value rotates")
	}
}

func TestWhatIsPutAsideIsCompressedAndTheOldestGo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	writeLog(t, Options{Path: path, Rotate: Rotation{Size: 5000}}, 0, 100)
	whole := read(t, path)
	for _, other := range []string{"audit-notes.jsonl", "audit-20260301T000000.000000000Z.txt", "other-20260301T000000.000000000Z.jsonl"} {
		if err := os.WriteFile(filepath.Join(dir, other), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, err := PutAside(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(before[len(before)-1], 0o640); err != nil {
		t.Fatal(err)
	}
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	r := Rotation{Keep: 3, Compress: true}
	if err := r.tidy(cut, path); err != nil {
		t.Errorf("cut short: %v", err)
	}
	if err := r.tidy(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	after, err := PutAside(path)
	if err != nil || len(after) != 3 || after[2] != before[len(before)-1]+".gz" {
		t.Fatalf("put aside: %q, %v", after, err)
	}
	if info, err := os.Stat(after[2]); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode of a compressed file: %v, %v; want 0640", info, err)
	}
	v := NewVerifier(nil, func(f Fault) { t.Errorf("%+v", f) })
	for _, name := range append(after, path) {
		in, err := OpenInput(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for line, ended, err := in.Next(); err == nil; line, ended, err = in.Next() {
			v.Line(line, ended)
		}
		in.Close()
	}
	v.End()
	if v.Last.Seq != 100 || read(t, path) != whole {
		t.Errorf("the log ends at seq %d", v.Last.Seq)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 3+3+2 { // others, put aside, the log and its head
		t.Errorf("left: %q", left)
	}
}
