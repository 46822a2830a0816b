//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"heed/internal/ca"
)

// smallDisk mounts a file system of a few octets, or skips t where only root may.
func smallDisk(t *testing.T, octets int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", octets)); err != nil {
		t.Skipf("SKIPPED: no small disk can be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill leaves no room on a disk, and returns what makes room again.
func fill(t *testing.T, dir string) (clear func()) {
	t.Helper()
	file := filepath.Join(dir, "filler")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for chunk := make([]byte, 4096); ; {
		if _, err := f.Write(chunk); err != nil {
			break
		}
	}
	return func() {
		if err := os.Remove(file); err != nil {
			t.Error(err)
		}
	}
}

// An audit log on a full disk: requests go on, readiness says what is wrong, each
// record that is lost is counted, and when there is room again the log goes on with
// whole lines.
func TestDiskFullForTheAuditLog(t *testing.T) {
	disk := smallDisk(t, 64<<10)
	origin := newSite(t, false, false, "")
	log := filepath.Join(disk, "audit.jsonl")
	p := startProcess(t, []*site{origin}, "HEED_AUDIT_PATH="+log)
	c := p.client(false)
	asked := 0
	ask := func() {
		t.Helper()
		asked++
		if a, err := fetchURL(c, fmt.Sprintf("%s/%d", origin.URL, asked)); err != nil || a.status != 200 {
			t.Fatalf("%d %v", a.status, err)
		}
	}
	ask()
	clear := fill(t, disk)
	for range 30 { // more than what is left of a page
		ask()
	}
	eventually(t, "the trouble is seen", func() bool { return p.metric("heed_audit_errors_total") > 0 && !p.ready() })
	clear()
	eventually(t, "the log goes on", func() bool {
		ask()
		return p.ready()
	})
	if err := p.terminate(); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	whole, torn := 0, 0
	for line := range bytes.Lines(data) {
		switch {
		case json.Valid(line):
			whole++
		default:
			torn++ // where the disk was full
		}
	}
	if whole < 2 || torn > 1 || !bytes.HasSuffix(data, []byte("}\n")) {
		t.Errorf("%d lines are whole and %d torn, of %d requests:\n%.2000s", whole, torn, asked, data)
	}
	if !strings.Contains(p.log(), "no space left on device") {
		t.Errorf("diagnostics: %s", p.log())
	}
}

// A store on a full disk is done without: verdicts are as always, what could not be
// saved is counted, and the file can be opened by the next heed.
func TestDiskFullForTheStore(t *testing.T) {
	disk := smallDisk(t, 512<<10)
	m := newMany(t)
	store := "HEED_ROBOTS_STORE=file:" + filepath.Join(disk, "robots.db")
	p := startProcess(t, nil, store)
	c := p.client(false)
	visitOrigin(t, c, m, 0, true)
	eventually(t, "the first is saved", func() bool { return p.terminate() == nil })
	p = startProcess(t, nil, store)
	c = p.client(false)
	clear := fill(t, disk)
	for i := 1; i < 60; i++ {
		visitOrigin(t, c, m, i, true)
		visitOrigin(t, c, m, i, false)
	}
	eventually(t, "the trouble is counted", func() bool { return p.metric("heed_store_errors_total") > 0 })
	clear()
	if err := p.terminate(); err != nil {
		t.Error(err)
	}
	before, _ := m.counts()
	p = startProcess(t, nil, store)
	c = p.client(false)
	visitOrigin(t, c, m, 0, true)
	if after, most := m.counts(); after != before || most > 1 {
		t.Errorf("what was stored is asked for again: %d origins, %d times", after, most)
	}
	visitOrigin(t, c, m, 70, true)
}

// A CA folder on a full disk: heed says so and does not start, and leaves no half of
// a CA behind. With room it makes one; a full disk is no matter to one that is there.
func TestDiskFullForTheCA(t *testing.T) {
	disk := smallDisk(t, 64<<10)
	dir := filepath.Join(disk, "ca")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	clear := fill(t, disk)
	if _, err := ca.Open(dir); err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("the error is %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		if info, err := f.Info(); err != nil || info.Size() > 0 || strings.HasSuffix(f.Name(), ".pem") {
			t.Errorf("%s is left behind: %v", f.Name(), err)
		}
	}
	clear()
	if _, err := ca.Open(dir); err != nil {
		t.Fatalf("with room again: %v", err)
	}
	fill(t, disk)
	secure := newSite(t, true, true, "")
	p := startProcess(t, []*site{secure}, "HEED_HTTPS_CA_DIR="+dir)
	p.ca = filepath.Join(dir, "ca.pem")
	if a, err := fetchURL(p.client(true), secure.URL+"/x"); err != nil || a.status != 200 {
		t.Errorf("%d %v", a.status, err)
	}
}
