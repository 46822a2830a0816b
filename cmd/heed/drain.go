package main

import (
	"context"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// signals are those that heed serve listens to.
type signals struct{ end, reload chan os.Signal }

func newSignals() (s signals, stop func()) {
	s = signals{end: make(chan os.Signal, 2), reload: make(chan os.Signal, 1)}
	signal.Notify(s.end, os.Interrupt, syscall.SIGTERM)
	signal.Notify(s.reload, syscall.SIGHUP)
	return s, func() {
		signal.Stop(s.end)
		signal.Stop(s.reload)
	}
}

// onHangup is what SIGHUP asks for: the configuration, and the files that have been
// put aside meanwhile.
func (s *server) onHangup(load loader) {
	tellManager(reloading()...)
	s.reload(load, "SIGHUP")
	if log, ok := any(s.audit).(interface{ Reopen() error }); ok {
		if err := log.Reopen(); err != nil {
			s.log.Error("audit log is not opened anew, records go on to the old file", "error", err)
		}
	}
	tellManager(daemon.SdNotifyReady)
}

// drain ends the server. A second signal cuts what has not finished yet; a third
// ends the process on the spot.
func (s *server) drain(sig signals) error {
	tellManager(daemon.SdNotifyStopping)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-sig.end:
			signal.Stop(sig.end)
			s.log.Warn("a second signal: what has not finished is cut")
			cancel()
		case <-ctx.Done():
		}
	}()
	return s.shutdown(ctx, s.now.config.Limits.ShutdownGrace)
}

// shutdown drains and closes everything, the audit log last: every exchange
// that was served is in it. What does not end within grace, or before ctx does,
// is cut; that is not an error.
func (s *server) shutdown(ctx context.Context, grace time.Duration) error {
	s.accepting.Store(false)
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := s.proxy.Shutdown(ctx); err != nil {
		s.log.Warn("cut what had not finished", "grace", grace)
	}
	err := s.release()
	s.log.Info("stopped", "audit_records", s.audit.Written())
	return err
}

// release closes what newServer built; parts that are missing are passed over.
func (s *server) release() error {
	if s.admin != nil {
		_ = s.admin.Close()
	}
	for _, l := range []net.Listener{s.adminOn, s.listener} {
		if l != nil {
			_ = l.Close()
		}
	}
	if s.store != nil {
		s.store.Close()
	}
	if s.backend != nil {
		if err := s.backend.Close(); err != nil {
			s.log.Warn("robots.txt store did not close", "error", err)
		}
	}
	if r := s.now.reach.Load(); r != nil {
		r.transport.CloseIdleConnections()
	}
	if s.audit != nil {
		return s.audit.Close()
	}
	return nil
}
