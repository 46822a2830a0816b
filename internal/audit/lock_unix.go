//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package audit

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock takes f for this process until it is closed.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
