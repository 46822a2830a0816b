package ca

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ca")
	first, err := Init(dir, false)
	if err != nil {
		t.Fatalf("Init: %v", err)
	}
	old := files(t, dir)
	_, err = Init(dir, false)
	var state *StateError
	if !errors.Is(err, fs.ErrExist) || !errors.As(err, &state) || !strings.Contains(state.Hint, "--force") {
		t.Errorf("Init over a CA: %v, want fs.ErrExist and a hint at --force", err)
	}
	if diff := cmp.Diff(old, files(t, dir)); diff != "" {
		t.Errorf("the refused Init changed files (-before +after):\n%s", diff)
	}
	second, err := Init(dir, true)
	if err != nil {
		t.Fatalf("Init with force: %v", err)
	}
	if first.Fingerprint() == second.Fingerprint() {
		t.Error("Init with force kept the old CA")
	}
	backups := map[string]string{}
	for name, data := range files(t, dir) {
		if base, _, ok := strings.Cut(name, ".old-"); ok {
			backups[base] = data
		}
	}
	if diff := cmp.Diff(old, backups); diff != "" {
		t.Errorf("backups (-old +kept):\n%s", diff)
	}
}

func TestInitRepairsHalfAPairOnlyByForce(t *testing.T) {
	dir := writeCA(t, nil, []byte("half"))
	if _, err := Init(dir, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Init over half a CA: %v, want fs.ErrExist", err)
	}
	if _, err := Init(dir, true); err != nil {
		t.Errorf("Init with force: %v", err)
	}
	if found := files(t, dir); len(found) != 3 {
		t.Errorf("%d files, want the pair and one backup", len(found))
	}
}
