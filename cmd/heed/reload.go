package main

import (
	"crypto/tls"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"heed/internal/config"
	"heed/internal/htpasswd"
)

// inForce is what a reload may change of a server beside the proxy's own settings.
// Only the goroutine that reloads changes it.
type inForce struct {
	started config.Config // what needs a restart stays as it was then
	config  config.Config // in force; of started what needs a restart
	users   *htpasswd.Users
	reach   atomic.Pointer[reach] // the way to origins; robots.txt files take the latest, too
	cert    atomic.Pointer[tls.Certificate]

	failures atomic.Uint64
}

// RoundTrip implements http.RoundTripper: it reaches origins as they are to be
// reached now.
func (r *inForce) RoundTrip(req *http.Request) (*http.Response, error) {
	return r.reach.Load().transport.RoundTrip(req)
}

// certificate is the one that the proxy port shows now.
func (r *inForce) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return r.cert.Load(), nil
}

// reload takes over the configuration as it is now, all of it or, when anything is
// wrong, nothing. cause says why it was asked for.
func (s *server) reload(load loader, cause string) {
	loaded, err := load()
	var changes []config.Change
	if err == nil {
		changes = loaded.Config.Changes(s.now.config)
		err = s.apply(loaded.Config.Running(s.now.started))
	}
	if err != nil {
		s.now.failures.Add(1)
		s.log.Error("configuration is not reloaded, the one before stays in force", "cause", cause, "error", err)
		return
	}
	for _, w := range loaded.Warnings {
		s.log.Warn("configuration", "warning", w)
	}
	var waiting []string
	for _, c := range changes {
		if c.Restart {
			waiting = append(waiting, c.Key)
			s.log.Warn("this change needs a restart", "key", c.Key, "from", c.From, "to", c.To)
			continue
		}
		s.log.Info("configuration changed", "key", c.Key, "from", c.From, "to", c.To)
	}
	s.log.Info("configuration is reloaded", "cause", cause, "changed", len(changes)-len(waiting), "need_restart", waiting)
	s.warn(s.now.config)
}

// apply makes c the configuration in force. Whatever can fail comes first; an
// error leaves everything as it was. Files that c names are read again.
func (s *server) apply(c config.Config) error {
	r, err := s.newWay(c)
	if err != nil {
		return err
	}
	known := s.now.users
	if c.Auth.UsersFile != s.now.config.Auth.UsersFile {
		if known, err = users(c, s.log); err != nil {
			return err
		}
	}
	po, err := proxyOptions(c, r, s.store, s.authority)
	if err != nil {
		return err
	}
	if known != nil {
		po.Authenticate = known.Check
	}
	if s.bodies != nil {
		if err := s.keepOverrides(c); err != nil {
			return err
		}
	}
	if err := s.proxy.Change(po); err != nil {
		return err
	}
	if po.TLS != nil {
		s.now.cert.Store(&po.TLS.Certificates[0])
	}
	if before := s.now.reach.Swap(r); before != r {
		// What is under way goes on; what comes has to find its way by the new rules.
		before.transport.CloseIdleConnections()
		s.store.ForgetFailures()
	}
	s.store.SetUserAgent(userAgent(c.Agent))
	s.level.Set(levelOf(c.Log))
	s.now.config, s.now.users = c, known
	return nil
}

// newWay returns the way to origins that c describes: the one in use, with the
// connections that it keeps, when nothing about it has changed.
func (s *server) newWay(c config.Config) (*reach, error) {
	r, err := newReach(c, s.env)
	if err != nil {
		return nil, err
	}
	before := s.now.reach.Load()
	egress := slices.ContainsFunc(c.Changes(s.now.config), func(d config.Change) bool { return strings.HasPrefix(d.Key, "egress.") })
	if !egress && r.roots.Equal(before.roots) {
		return before, nil
	}
	s.refuseOwn(r)
	return r, nil
}

// errNotAccepting is what readiness says before heed serves and when it drains.
var errNotAccepting = errors.New("not accepting connections")
