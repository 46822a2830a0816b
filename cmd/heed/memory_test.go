//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// In a control group with a limit heed takes nine tenths of it for Go, and says so;
// GOMEMLIMIT wins.
func TestMemoryLimitOfTheControlGroup(t *testing.T) {
	group, limitFile := "/sys/fs/cgroup/heed-test", "memory.max"
	if _, err := os.Stat("/sys/fs/cgroup/memory"); err == nil {
		group, limitFile = "/sys/fs/cgroup/memory/heed-test", "memory.limit_in_bytes"
	}
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("SKIPPED: no control group can be made: %v", err)
	}
	defer func() { _ = os.Remove(group) }()
	if err := os.WriteFile(filepath.Join(group, limitFile), []byte("1073741824"), 0o600); err != nil {
		t.Skipf("SKIPPED: no memory limit can be set: %v", err)
	}
	for _, tc := range []struct{ env, want string }{
		{"X=", "bytes=966367641"}, {"GOMEMLIMIT=123MiB", "bytes=128974848"},
	} {
		p := newProcess(t, nil, tc.env)
		p.cmd.Path, p.cmd.Args = "/bin/sh", append([]string{"sh", "-c", "echo $$ > " + group + `/cgroup.procs && exec "$0" "$@"`}, p.cmd.Args...)
		p.start()
		if !strings.Contains(p.log(), `msg="memory is limited" `+tc.want+"\n") {
			t.Errorf("%s: %s", tc.env, p.log())
		}
		if err := p.terminate(); err != nil {
			t.Error(err)
		}
	}
}
