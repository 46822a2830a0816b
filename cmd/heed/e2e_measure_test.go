package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// load is what a heed holds.
type load struct {
	goroutines, descriptors int
	resident                int64 // octets
}

// load measures it, without the connection that the measuring takes.
func (p *process) load() load {
	p.t.Helper()
	return load{int(p.metric("go_goroutines")), int(p.metric("process_open_fds")), int64(p.metric("process_resident_memory_bytes"))}
}

// awaitBase waits until goroutines and descriptors are back at base, but for a few
// that come and go, and returns what is held then.
func (p *process) awaitBase(base load, what string) load {
	p.t.Helper()
	const few = 5
	var now load
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		now = p.load()
		if now.goroutines <= base.goroutines+few && now.descriptors <= base.descriptors+few {
			return now
		}
	}
	p.t.Errorf("%s: %+v does not come back to %+v", what, now, base)
	return now
}

// eventually waits until ok holds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// writeConfig replaces the configuration file in one step.
func (p *process) writeConfig(text string) {
	p.t.Helper()
	file := filepath.Join(p.dir, "config.yaml")
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		p.t.Fatal(err)
	}
}

func adminRequest(p *process, path string) *http.Request {
	p.t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+p.admin+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return req
}
