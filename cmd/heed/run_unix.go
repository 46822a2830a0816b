//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// forwarded are the signals that are passed on to the command.
var forwarded = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// supervise runs cmd in a process group of its own, passes signals on to that
// group, and returns the exit code. The group is what keeps a signal from
// arriving twice: a terminal's goes to the command alone, which then owns the
// terminal, and one sent to heed or its group is passed on once. The error is
// that of a command that could not be started.
func supervise(cmd *exec.Cmd, signals <-chan os.Signal) (int, error) {
	tty := newTerminal()
	defer tty.close()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ours := tty.ours()
	if ours {
		cmd.SysProcAttr.Foreground, cmd.SysProcAttr.Ctty = true, int(tty.file.Fd())
	}
	if err := cmd.Start(); err != nil {
		if ours { // it may have come as far as taking the terminal
			tty.give(unix.Getpgrp())
		}
		return 0, err
	}
	pid := cmd.Process.Pid
	defer tty.take(pid, unix.Getpgrp())
	done := make(chan struct{})
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		for {
			select {
			case s := <-signals:
				_ = unix.Kill(-pid, s.(syscall.Signal)) // it may be gone already
				if s != syscall.SIGINT {
					_ = unix.Kill(-pid, unix.SIGCONT) // one that is stopped ends, too
				}
			case <-done:
				return
			}
		}
	}()
	status, err := waitFor(pid, tty)
	close(done)
	<-passed
	_ = cmd.Process.Release()
	if err != nil {
		return 0, err
	}
	if status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

// waitFor waits until pid has ended. When the command is stopped, from the
// terminal or because it wants to read from one that is another job's, heed's own
// group is stopped with it, as one job of the shell, and both go on together.
func waitFor(pid int, tty *terminal) (unix.WaitStatus, error) {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, unix.WUNTRACED, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case !status.Stopped():
			return status, nil
		case tty != nil:
			tty.take(pid, unix.Getpgrp())
			_ = unix.Kill(0, unix.SIGTSTP)
			tty.take(unix.Getpgrp(), pid)
			_ = unix.Kill(-pid, unix.SIGCONT)
		}
	}
}

// terminal is heed's controlling terminal. A nil terminal, where there is none,
// is nobody's.
type terminal struct{ file *os.File }

// newTerminal opens the controlling terminal, whatever standard input is: a
// command may read a password from it. It returns nil where there is none.
func newTerminal() *terminal {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	signal.Ignore(syscall.SIGTTOU) // which taking the terminal back would raise
	return &terminal{f}
}

// ours reports whether heed's process group is in the foreground.
func (t *terminal) ours() bool { return t.foreground() == unix.Getpgrp() }

// foreground returns the process group that has the terminal, -1 when there is none.
func (t *terminal) foreground() int {
	if t == nil {
		return -1
	}
	group, err := unix.IoctlGetInt(int(t.file.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return -1
	}
	return group
}

// take gives the terminal from one process group to another, if that has it.
func (t *terminal) take(from, to int) {
	if t.foreground() == from {
		t.give(to)
	}
}

// give fails only when the terminal is gone, which is no loss.
func (t *terminal) give(to int) { _ = unix.IoctlSetPointerInt(int(t.file.Fd()), unix.TIOCSPGRP, to) }

func (t *terminal) close() {
	if t != nil {
		_ = t.file.Close()
	}
}
