package main

import (
	"net"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"
)

// tellManager tells the service manager what heed is doing, where there is one that
// listens (sd_notify(3)). Without one nothing happens, and that it did not hear is no
// fault of heed's.
func tellManager(states ...string) { _, _ = daemon.SdNotify(false, strings.Join(states, "\n")) }

// reloading is what the service manager is told before a reload. It wants to know
// the moment, so that it can tell one reload from the next.
func reloading() []string {
	return []string{daemon.SdNotifyReloading, strings.TrimSuffix(daemon.SdNotifyMonotonicUsec(), "\n")}
}

// watchdog ticks as often as the service manager wants to hear that heed is alive;
// nil when it does not. stop ends it.
func watchdog() (tick <-chan time.Time, stop func()) {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil || every <= 0 {
		return nil, func() {}
	}
	t := time.NewTicker(every / 2) // as sd_watchdog_enabled(3) wants
	return t.C, t.Stop
}

// inherited returns the listeners that the service manager has opened (socket
// activation, sd_listen_fds(3)): the one that is called admin, and the first of the
// others. Either may be nil. The rest is closed.
func inherited() (proxy, admin net.Listener, err error) {
	named, err := activation.ListenersWithNames()
	if err != nil {
		return nil, nil, err
	}
	for name, listeners := range named {
		for _, l := range listeners {
			switch {
			case name == "admin" && admin == nil:
				admin = l
			case name != "admin" && proxy == nil:
				proxy = l
			default:
				_ = l.Close()
			}
		}
	}
	return proxy, admin, nil
}
