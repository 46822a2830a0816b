package main

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"heed/fetch/filestore"
	"heed/internal/admin"
	"heed/internal/config"
)

// bind opens the listeners, or takes those that were opened for heed.
func (s *server) bind(c config.Config) error {
	var err error
	if s.listener, s.adminOn, err = inherited(); err != nil {
		return usage("", "socket activation: %w", err)
	}
	if s.listener == nil {
		if s.listener, err = net.Listen("tcp", c.Listen); err != nil {
			return bindError("listen", "listen", err)
		}
	}
	if s.adminOn == nil && c.Admin.Listen != "" {
		if s.adminOn, err = net.Listen("tcp", c.Admin.Listen); err != nil {
			return bindError("admin.listen", "admin", err)
		}
	}
	s.refuseOwn(s.now.reach.Load())
	return nil
}

// refuseOwn keeps heed's own listeners from being dialled through the proxy.
func (s *server) refuseOwn(r *reach) {
	for _, l := range []net.Listener{s.listener, s.adminOn} {
		if l != nil {
			r.guard.RefuseListener(l.Addr())
		}
	}
}

// newAdmin returns the server of the admin listener.
func (s *server) newAdmin(c config.Config) *http.Server {
	o := admin.Options{
		Listen: c.Admin.Listen, Token: c.Admin.Token, Metrics: s.metrics, Proxy: dialable(s.listener.Addr().String()), ProxyTLS: c.TLS.Cert != "",
		Checks: []admin.Check{
			{Name: "accepting", Func: func() error {
				if !s.accepting.Load() {
					return errNotAccepting
				}
				return nil
			}},
		},
		Robots: robotsAPI(s.store),
	}
	o.Checks = append(o.Checks, s.evidenceChecks()...)
	if file, ok := s.backend.(*filestore.Store); ok {
		o.Checks = append(o.Checks, admin.Check{Name: "store", Func: func() error {
			return errors.Join(file.Healthy(), s.store.Healthy())
		}})
	}
	if s.authority != nil {
		o.CA = s.authority.PEM()
	}
	return &http.Server{
		Handler:           admin.New(o),
		ReadHeaderTimeout: adminTimeout,
		ReadTimeout:       adminTimeout,
		WriteTimeout:      adminTimeout,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// adminTimeout bounds a request to the admin listener, whose answers are small.
const adminTimeout = 30 * time.Second

func bindError(key, flag string, err error) error {
	hint := "choose another address with --" + flag
	if errors.Is(err, syscall.EADDRINUSE) {
		hint = "is another heed running? " + hint
	}
	return usage(hint, "%s: %w", key, err)
}
