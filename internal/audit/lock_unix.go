//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package audit

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A lock that somebody holds is asked for again for a while: its holder may be
// about to end, or be gone and have left it to a child that has not begun yet.
const (
	lockPatience = 2 * time.Second
	lockEvery    = 5 * time.Millisecond
)

// lock takes f for this process until it is closed.
func lock(f *os.File) error {
	for end := time.Now().Add(lockPatience); ; time.Sleep(lockEvery) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) || time.Now().After(end) {
			return err
		}
	}
}
