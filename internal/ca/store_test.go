package ca

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOpenMakesOneAndKeepsIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "ca")
	first, err := Open(dir)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	before := files(t, dir)
	second, err := Open(dir)
	if err != nil {
		t.Fatalf("second Open: %v", err)
	}
	if first.Fingerprint() != second.Fingerprint() {
		t.Errorf("second Open: %s, want %s", second.Fingerprint(), first.Fingerprint())
	}
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Errorf("second Open changed files (-before +after):\n%s", diff)
	}
	if len(before) != 2 {
		t.Errorf("%d files beside the lock, want the pair alone: %v", len(before), before)
	}
	if got := before[certFile]; got != string(first.PEM()) {
		t.Errorf("PEM() is not ca.pem:\n%s\n%s", first.PEM(), got)
	}
	if first.Dir() != dir || first.Path() != filepath.Join(dir, "ca.pem") {
		t.Errorf("Dir() = %s, Path() = %s", first.Dir(), first.Path())
	}
}

func TestFileModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no mode bits")
	}
	a := open(t)
	for name, want := range map[string]fs.FileMode{".": 0o700, certFile: 0o644, keyFile: 0o600} {
		info, err := os.Stat(filepath.Join(a.Dir(), name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %s: %04o, want %04o", name, got, want)
		}
	}
}

func TestConcurrentOpensInOneProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ca")
	const n = 16
	prints := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			a, err := Open(dir)
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			prints[i] = a.Fingerprint()
		})
	}
	wg.Wait()
	sameFor(t, dir, prints)
}

func TestConcurrentOpensInManyProcesses(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "ca")
	const n = 6
	prints := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), openEnv+"="+dir)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("process %d: %v: %s", i, err, stderr.String())
			}
			prints[i] = strings.TrimSpace(string(out))
		})
	}
	wg.Wait()
	sameFor(t, dir, prints)
}

// sameFor checks that everybody saw the CA that dir holds.
func sameFor(t *testing.T, dir string, prints []string) {
	t.Helper()
	a, err := Load(dir)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	for i, got := range prints {
		if got != a.Fingerprint() {
			t.Errorf("opener %d: %q, want %q", i, got, a.Fingerprint())
		}
	}
	if found := files(t, dir); len(found) != 2 {
		t.Errorf("%d files beside the lock, want 2", len(found))
	}
}

func TestLoadMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ca")
	if _, err := Load(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load of nothing: %v, want fs.ErrNotExist", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load made %s", dir)
	}
}

func TestOpenWithoutFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := Open(""); err == nil {
		t.Error(`Open(""): no error`)
	}
	if found := files(t, "."); len(found) != 0 {
		t.Errorf(`Open("") made %v`, found)
	}
}

func TestOpenOfReadOnlyFolder(t *testing.T) {
	dir := writeCA(t, nil, nil)
	key := ecdsaKey(t)
	write(t, filepath.Join(dir, certFile), selfSigned(t, caTemplate(), key), 0o444)
	write(t, filepath.Join(dir, keyFile), pkcs8(t, key), 0o400)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if _, err := Open(dir); err != nil {
		t.Errorf("Open: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, lockFile)); err == nil {
		t.Error("Open of a whole pair took the lock, which a read-only volume forbids")
	}
}
