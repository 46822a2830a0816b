package process

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	// The name may hold spaces and parentheses.
	const line = "42 (a) b) (c) S 7 42 42 0 -1 4194560 100 0 0 0 11 22 33 44 20 0 1 0 5 6 7"
	id, parent, cpu, err := parse([]byte(line))
	if id != 42 || parent != 7 || cpu != 1100*time.Millisecond || err != nil {
		t.Errorf("got %d, %d, %s, %v", id, parent, cpu, err)
	}
	for _, wrong := range []string{"", "42 (a", "42 (a) S 7", strings.Replace(line, " 22 ", " x ", 1)} {
		if _, _, _, err := parse([]byte(wrong)); err == nil {
			t.Errorf("%q: no error", wrong)
		}
	}
}

// What a child does counts, while it runs and once it has ended.
func TestTree(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("SKIPPED: no sh")
	}
	busy := exec.Command(shell, "-c", `(i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo half; while :; do i=$((i+1)); done); :`)
	said, err := busy.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	busy.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Wait() }()
	defer func() { _ = syscall.Kill(-busy.Process.Pid, syscall.SIGKILL) }()
	if _, err := said.Read(make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	u, err := Tree(busy.Process.Pid)
	if err != nil || u.CPU <= 0 || u.Resident <= 0 {
		t.Errorf("got %+v, %v", u, err)
	}
	if own, err := Tree(os.Getpid()); err != nil || own.CPU < u.CPU || own.Resident <= u.Resident {
		t.Errorf("all: %+v, %v; the child alone: %+v", own, err, u)
	}
}

// A program that leaves a child behind is ended with it.
func TestStopEndsTheGroup(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("SKIPPED: no sh")
	}
	dir := t.TempDir()
	cmd := exec.Command(shell, "-c", "sleep 1000 & echo $!; exit 3")
	_, err = Start(t.Context(), cmd, dir, "127.0.0.1:1")
	if err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Fatalf("got %v", err)
	}
	text, _ := os.ReadFile(dir + "/output")
	child := strings.TrimSpace(string(text))
	// Killed, it may still be there as a zombie that nobody has collected.
	for {
		stat, err := os.ReadFile("/proc/" + child + "/stat")
		if child == "" || err != nil || strings.Contains(string(stat), ") Z ") {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("the child lives on")
		}
		time.Sleep(time.Millisecond)
	}
	if child == "" {
		t.Error("there was no child")
	}
}
