package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"heed/fetch"
	"heed/internal/admin"
	"heed/internal/audit"
	"heed/internal/audit/bodies"
	"heed/internal/ca"
	"heed/internal/config"
	"heed/proxy"
)

func serveCommand(e env) *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the proxy until SIGINT or SIGTERM; SIGHUP reloads the configuration",
		Long: `Run the proxy. Point a crawler at it with http_proxy and https_proxy, and let it
trust the CA that 'heed ca export' prints. Decisions go to the audit log
(standard output by default), diagnostics to standard error.

SIGHUP, or a change of the configuration file, reloads the configuration; one with
a fault changes nothing. SIGINT and SIGTERM let what is under way finish within
limits.shutdown_grace and then end heed; a second one ends that, too.`,
		Args: noArgs,
	}
	load := settingsQuietly(c, e, nil, "listen", "admin", "agent", "profile", "mode")
	c.RunE = func(*cobra.Command, []string) error {
		loaded, err := load()
		if err != nil {
			return err
		}
		for _, w := range loaded.Warnings {
			fmt.Fprintf(e.stderr, "warning: %s\n", w)
		}
		// A reader of standard output that went away is an error to be counted,
		// not the end of the process.
		signal.Ignore(syscall.SIGPIPE)
		return serve(loaded, load, e)
	}
	return c
}

// server is a running heed.
type server struct {
	env       env
	log       *slog.Logger
	level     *slog.LevelVar
	now       inForce
	store     *fetch.Store
	backend   backend // nil when robots.txt files are kept in memory alone
	proxy     *proxy.Proxy
	audit     *audit.Writer
	bodies    *bodies.Folder // nil when robots.txt files are not kept
	metrics   *admin.Metrics
	authority *ca.Authority // nil in tunnel mode
	listener  net.Listener
	admin     *http.Server // nil when it is off
	adminOn   net.Listener
	accepting atomic.Bool
	tap       func(*proxy.Record) // hears of every exchange, too; set before serving, may be nil
}

// serve runs heed until a signal ends it, and reloads the configuration when it is
// to.
func serve(loaded *config.Loaded, load loader, e env) error {
	signals, stop := newSignals()
	defer stop()
	c := loaded.Config
	log, level := newLog(e.stderr, c.Log)
	limitMemory(log)
	s, err := newServer(c, e, log, level)
	if err != nil {
		return err
	}
	content := contentOf(loaded.Path)
	changed, unwatch := watchFile(loaded.Path, log)
	defer unwatch()
	alive, sleep := watchdog()
	defer sleep()
	defer trimWhenQuiet()()
	ended := s.start()
	s.announce(c)
	tellManager(daemon.SdNotifyReady)
	for {
		select {
		case <-alive:
			tellManager(daemon.SdNotifyWatchdog)
		case <-signals.reload:
			content = contentOf(loaded.Path)
			s.onHangup(load)
		case <-changed:
			if now := contentOf(loaded.Path); now != nil && (content == nil || *now != *content) {
				content = now
				s.reload(load, "the file has changed")
			}
		case <-signals.end:
			log.Info("draining", "grace", s.now.config.Limits.ShutdownGrace)
			return s.drain(signals)
		case err := <-ended:
			log.Error("a listener failed", "error", err)
			return errors.Join(err, s.drain(signals))
		}
	}
}

// start begins to serve. What it returns is sent to when a listener ends.
func (s *server) start() <-chan error {
	ended := make(chan error, 2)
	go func() { ended <- s.proxy.Serve(s.listener) }()
	if s.admin != nil {
		go func() { ended <- s.admin.Serve(s.adminOn) }()
	}
	s.accepting.Store(true)
	return ended
}

// newServer builds everything and binds the listeners. What was built is
// released again when a later step fails.
func newServer(c config.Config, e env, log *slog.Logger, level *slog.LevelVar) (s *server, err error) {
	s = &server{env: e, log: log, level: level}
	s.now.started, s.now.config = c, c
	defer func() {
		if err != nil {
			s.release()
		}
	}()
	r, err := newReach(c, e)
	if err != nil {
		return s, err
	}
	s.now.reach.Store(r)
	if c.HTTPS.Mode == "intercept" {
		if s.authority, err = ca.Open(caDir(c, e)); err != nil {
			return s, usage(caDirHint, "%w", err)
		}
	}
	if err := s.openEvidence(c, e); err != nil {
		return s, err
	}
	s.metrics = admin.NewMetrics(version(), runtime.Version(), s.sources())
	if err := s.openStore(c); err != nil {
		return s, err
	}
	po, err := proxyOptions(c, r, s.store, s.authority)
	if err != nil {
		return s, err
	}
	if s.now.users, err = users(c, log); err != nil {
		return s, err
	}
	if s.now.users != nil {
		po.Authenticate = s.now.users.Check
	}
	if po.TLS != nil {
		s.now.cert.Store(&po.TLS.Certificates[0])
		po.TLS = &tls.Config{GetCertificate: s.now.certificate, MinVersion: po.TLS.MinVersion}
	}
	if err := s.bind(c); err != nil {
		return s, err
	}
	if c.Audit.Required {
		po.Ready = s.ready
	}
	if s.adminOn != nil {
		s.admin = s.newAdmin(c)
	}
	po.Log, po.OnRecord, po.Direct = log, s.record, s.direct(c.TLS.Cert != "")
	s.proxy, err = proxy.New(po)
	return s, err
}

// openStore opens what is known of robots.txt files.
func (s *server) openStore(c config.Config) error {
	o := storeOptions(c, &s.now, s.log)
	o.OnFetch = s.metrics.ObserveFetch
	o.OnLookup = func(l fetch.Lookup) { s.metrics.ObserveLookup(l.String()) }
	if s.bodies != nil {
		o.OnFile = s.keep
	}
	var err error
	if s.backend, err = openBackend(c, s.log, exitUsage); err != nil {
		return err
	}
	if s.backend != nil {
		o.Backend = s.backend
	}
	s.store = fetch.New(o)
	return nil
}

// direct is the page of the proxy port.
func (s *server) direct(secure bool) http.Handler {
	o := admin.DirectOptions{Address: dialable(s.listener.Addr().String()), TLS: secure}
	if s.authority != nil {
		o.CA, o.Fingerprint = s.authority.PEM(), s.authority.Fingerprint()
	}
	return admin.Direct(o)
}

// record takes what there is to say about a finished exchange.
func (s *server) record(r *proxy.Record) {
	s.audit.Record(r)
	s.metrics.Observe(r)
	if s.tap != nil {
		s.tap(r)
	}
}

// sources are where the gauges read. They are asked only once everything is built.
func (s *server) sources() admin.Sources {
	o := admin.Sources{
		CachedOrigins:      func() int { return s.store.Len() },
		StoreErrors:        func() uint64 { return s.store.StoreErrors() },
		TunnelsOpen:        func() int { return s.proxy.OpenTunnels() },
		ConnectionsOpen:    func() int { return s.proxy.OpenConnections() },
		ConnectionsRefused: func() uint64 { return s.proxy.RefusedConnections() },
		RequestsOpen:       func() int { return s.proxy.OpenExchanges() },
		WebSocketsOpen:     func() int { return s.proxy.OpenWebSockets() },
		ReloadFailures:     s.now.failures.Load,
		AuditRecords:       func() uint64 { return s.audit.Written() },
		AuditErrors:        func() uint64 { return s.audit.Failed() },
	}
	if s.authority != nil {
		o.CertificatesIssued, o.CertificatesCached = s.authority.Issued, s.authority.Cached
	}
	return o
}
