//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A service manager's socket, as sd_notify(3) wants it.
type manager struct {
	t    *testing.T
	conn *net.UnixConn
	path string
}

func newManager(t *testing.T) *manager {
	t.Helper()
	dir, err := os.MkdirTemp("", "heed-sd-") // a path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	m := &manager{t: t, path: filepath.Join(dir, "notify")}
	if m.conn, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path, Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.conn.Close() })
	return m
}

// next returns the next message that is no sign of life, and whether there was one
// of those before it.
func (m *manager) next() (message string, alive bool) {
	m.t.Helper()
	b := make([]byte, 4096)
	for {
		_ = m.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		n, err := m.conn.Read(b)
		if err != nil {
			m.t.Fatalf("nothing more is said: %v", err)
		}
		if message = string(b[:n]); message != "WATCHDOG=1" {
			return message, alive
		}
		alive = true
	}
}

func (m *manager) wants(want string) {
	m.t.Helper()
	if got, _ := m.next(); got != want {
		m.t.Fatalf("heed says %q, want %q", got, want)
	}
}

// heed takes the listeners of a service manager, and tells it how it is.
func TestServiceManager(t *testing.T) {
	m := newManager(t)
	origin := newSite(t, false, false, "")
	p := newProcess(t, []*site{origin}, "NOTIFY_SOCKET="+m.path, "WATCHDOG_USEC=200000", "LISTEN_FDS=2", "LISTEN_FDNAMES=admin:proxy")
	// The process knows its own id only when it runs: LISTEN_PID has to be that.
	shell := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" serve -a testbot --listen 127.0.0.1:1 --admin ""`, p.cmd.Path)
	shell.Dir, shell.Env = p.cmd.Dir, p.cmd.Env
	p.cmd = shell
	var addrs []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		addrs = append(addrs, l.Addr().String())
		p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, f)
		t.Cleanup(func() { _, _ = l.Close(), f.Close() })
	}
	p.start()
	if p.admin != addrs[0] || p.addr != addrs[1] {
		t.Errorf("admin %s and proxy %s, want %v", p.admin, p.addr, addrs)
	}
	m.wants("READY=1")
	if a, err := fetchURL(p.client(false), origin.URL+"/x"); err != nil || a.status != 200 {
		t.Errorf("%d %v", a.status, err)
	}
	p.writeConfig("mode: nonsense\n")
	for alive := false; !alive; {
		p.hangup()
		var got string
		got, alive = m.next()
		state, stamp, _ := strings.Cut(got, "\n")
		var usec int64
		if _, err := fmt.Sscanf(stamp, "MONOTONIC_USEC=%d", &usec); state != "RELOADING=1" || err != nil || usec <= 0 {
			t.Fatalf("heed says %q", got)
		}
		m.wants("READY=1")
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	m.wants("STOPPING=1")
	select {
	case err := <-p.exited:
		p.exited <- err
		if err != nil {
			t.Errorf("exit: %v\n%s", err, p.log())
		}
	case <-time.After(20 * time.Second):
		t.Fatal("heed does not end")
	}
}
