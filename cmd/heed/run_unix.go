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
	tty := newTerminal(cmd.Stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if tty != nil {
		cmd.SysProcAttr.Foreground, cmd.SysProcAttr.Ctty = true, tty.fd
		defer tty.take(unix.Getpgrp())
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid := cmd.Process.Pid
	done := make(chan struct{})
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		for {
			select {
			case s := <-signals:
				_ = unix.Kill(-pid, s.(syscall.Signal)) // it may be gone already
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

// waitFor waits until pid has ended. When the command is stopped from the
// terminal, heed's own group is stopped with it, as one job of the shell, and
// both go on together.
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
			tty.take(unix.Getpgrp())
			_ = unix.Kill(0, unix.SIGTSTP)
			if tty.foreground() == unix.Getpgrp() {
				tty.take(pid)
			}
			_ = unix.Kill(-pid, unix.SIGCONT)
		}
	}
}

// terminal is the controlling terminal of a heed that runs in its foreground.
type terminal struct{ fd int }

// newTerminal returns nil when stdin is no terminal, or another job has it.
func newTerminal(stdin any) *terminal {
	f, ok := stdin.(*os.File)
	if !ok {
		return nil
	}
	t := &terminal{int(f.Fd())}
	if t.foreground() != unix.Getpgrp() {
		return nil
	}
	signal.Ignore(syscall.SIGTTOU) // which taking the terminal back would raise
	return t
}

// foreground returns the process group that has the terminal, -1 when there is none.
func (t *terminal) foreground() int {
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	if err != nil {
		return -1
	}
	return group
}

// take gives the terminal to a process group. It fails only when the terminal
// is gone, which is no loss.
func (t *terminal) take(group int) { _ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group) }
