// Package process runs programs, reads from /proc what they take, and ends them
// by their ids. It is for Linux.
package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a running program with all that it started.
type Process struct {
	cmd    *exec.Cmd
	said   string // file with its output
	exited chan struct{}
}

// startup bounds the time until a program listens: an interpreter on a busy
// machine takes some.
const startup = 60 * time.Second

// Start runs cmd until Stop and waits until it listens on address. What it says
// goes to a file in dir, and into the error when it does not come up.
func Start(ctx context.Context, cmd *exec.Cmd, dir, address string) (*Process, error) {
	said, err := os.OpenFile(filepath.Join(dir, "output"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	// A group of its own: an interrupt from the terminal is for us, and we end
	// what we started. Should we be killed, the kernel tells it, and it ends its own
	// (but for a program that has changed its user since: squid).
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, said: said.Name(), exited: make(chan struct{})}
	go p.reap()
	if err := p.listens(ctx, address); err != nil {
		p.Stop()
		return nil, fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, p.Said())
	}
	return p, nil
}

func (p *Process) listens(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startup)
	defer cancel()
	for {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-p.exited:
			return fmt.Errorf("ended with %s", p.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("does not listen on %s: %w", address, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ID is the process id.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Running reports whether it still runs.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// reap waits for the program's end and ends what it leaves behind. Until Wait has
// collected it the id is its own, and so is the group's.
func (p *Process) reap() {
	for {
		err := unix.Waitid(unix.P_PID, p.ID(), nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_ = syscall.Kill(-p.ID(), syscall.SIGKILL)
	_ = p.cmd.Wait()
	close(p.exited)
}

// Stop ends the program and what it started: first with a word, then by force.
// It may be called again.
func (p *Process) Stop() {
	if p.Running() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	select {
	case <-p.exited:
	case <-time.After(grace):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// grace is for programs that want to put something in order first.
const grace = 3 * time.Second

// Find returns where a program is, the directories of administrators included.
func Find(program string) (string, error) {
	path, err := exec.LookPath(program)
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/sbin"} {
		if err != nil {
			path, err = exec.LookPath(filepath.Join(dir, program))
		}
	}
	return path, err
}

// Ports are given out from here on, each once: below those that the system gives
// to clients, who would take them before a peer listens.
const (
	firstPort = 10_000
	lastPort  = 32_000
)

var lastGiven atomic.Int64

// Ports returns n loopback addresses that nobody listens on.
func Ports(n int) ([]string, error) {
	// Runs side by side begin at different places.
	lastGiven.CompareAndSwap(0, int64(os.Getpid())*64)
	var addresses []string
	for range lastPort - firstPort {
		if len(addresses) == n {
			return addresses, nil
		}
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+lastGiven.Add(1)%(lastPort-firstPort))
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			addresses = append(addresses, address)
		}
	}
	return nil, errors.New("no ports are free")
}

// Said is the end of what it wrote to standard output and error.
func (p *Process) Said() string {
	text, _ := os.ReadFile(p.said)
	return string(text[max(0, len(text)-1000):])
}

// MoreFiles raises the bound of open files for this process and all it starts:
// a thousand connections take two thousand in a proxy.
func MoreFiles() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	limit.Cur = min(limit.Max, 1<<16)
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
}
