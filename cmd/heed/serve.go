package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"heed/fetch"
	"heed/fetch/filestore"
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
		Short: "Run the proxy until SIGINT, SIGTERM or SIGHUP",
		Long: `Run the proxy. Point a crawler at it with http_proxy and https_proxy, and let it
trust the CA that 'heed ca export' prints. Decisions go to the audit log
(standard output by default), diagnostics to standard error.`,
		Args: noArgs,
	}
	load := settings(c, e, "listen", "admin", "agent", "profile", "mode")
	c.RunE = func(*cobra.Command, []string) error {
		loaded, err := load()
		if err != nil {
			return err
		}
		// A reader of standard output that went away is an error to be counted,
		// not the end of the process.
		signal.Ignore(syscall.SIGPIPE)
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		return serve(ctx, stop, loaded.Config, e)
	}
	return c
}

// server is a running heed.
type server struct {
	log       *slog.Logger
	store     *fetch.Store
	backend   backend // nil when robots.txt files are kept in memory alone
	transport *proxy.Transport
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

// serve runs heed until ctx ends, and then drains it. stop gives signals back
// their default meaning, so that a second one ends the process at once.
func serve(ctx context.Context, stop func(), c config.Config, e env) error {
	log := newLog(e.stderr, c.Log)
	s, err := newServer(c, e, log)
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	go func() { ended <- s.proxy.Serve(s.listener) }()
	if s.admin != nil {
		go func() { ended <- s.admin.Serve(s.adminOn) }()
	}
	s.accepting.Store(true)
	s.announce(c)
	select {
	case <-ctx.Done():
		stop()
		log.Info("draining", "grace", c.Limits.ShutdownGrace)
	case err = <-ended:
		log.Error("a listener failed", "error", err)
	}
	return errors.Join(err, s.shutdown(context.Background(), c.Limits.ShutdownGrace))
}

// newServer builds everything and binds the listeners. What was built is
// released again when a later step fails.
func newServer(c config.Config, e env, log *slog.Logger) (s *server, err error) {
	s = &server{log: log}
	defer func() {
		if err != nil {
			s.release()
		}
	}()
	r, err := newReach(c, e)
	if err != nil {
		return s, err
	}
	s.transport = r.transport
	if c.HTTPS.Mode == "intercept" {
		if s.authority, err = ca.Open(caDir(c, e)); err != nil {
			return s, usage(caDirHint, "%w", err)
		}
	}
	if err := s.openEvidence(c, e); err != nil {
		return s, err
	}
	s.metrics = admin.NewMetrics(version(), runtime.Version(), s.sources())
	fo := storeOptions(c, r.transport, log)
	fo.OnFetch = s.metrics.ObserveFetch
	fo.OnLookup = func(l fetch.Lookup) { s.metrics.ObserveLookup(l.String()) }
	if s.bodies != nil {
		fo.OnFile = s.keep
	}
	if s.backend, err = openBackend(c, log, exitUsage); err != nil {
		return s, err
	}
	if s.backend != nil {
		fo.Backend = s.backend
	}
	s.store = fetch.New(fo)
	po, err := proxyOptions(c, r, s.store, s.authority)
	if err != nil {
		return s, err
	}
	known, err := users(c, log)
	if err != nil {
		return s, err
	}
	if known != nil {
		po.Authenticate = known.Check
	}
	if err := s.bind(c, r); err != nil {
		return s, err
	}
	if c.Audit.Required {
		po.Ready = s.ready
	}
	po.Log, po.OnRecord, po.Direct = log, s.record, s.direct(c.TLS.Cert != "")
	s.proxy, err = proxy.New(po)
	return s, err
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
		CachedOrigins:   func() int { return s.store.Len() },
		StoreErrors:     func() uint64 { return s.store.StoreErrors() },
		TunnelsOpen:     func() int { return s.proxy.OpenTunnels() },
		ConnectionsOpen: func() int { return s.proxy.OpenConnections() },
		AuditRecords:    func() uint64 { return s.audit.Written() },
		AuditErrors:     func() uint64 { return s.audit.Failed() },
	}
	if s.authority != nil {
		o.CertificatesIssued = s.authority.Issued
	}
	return o
}

// bind opens the listeners. Neither may be dialled through the proxy.
func (s *server) bind(c config.Config, r *reach) error {
	var err error
	if s.listener, err = net.Listen("tcp", c.Listen); err != nil {
		return bindError("listen", "listen", err)
	}
	r.guard.RefuseListener(s.listener.Addr())
	if c.Admin.Listen == "" {
		return nil
	}
	if s.adminOn, err = net.Listen("tcp", c.Admin.Listen); err != nil {
		return bindError("admin.listen", "admin", err)
	}
	r.guard.RefuseListener(s.adminOn.Addr())
	o := admin.Options{
		Listen: c.Admin.Listen, Token: c.Admin.Token, Metrics: s.metrics, Proxy: dialable(s.listener.Addr().String()), ProxyTLS: c.TLS.Cert != "",
		Checks: []admin.Check{
			{Name: "accepting", Func: func() error {
				if !s.accepting.Load() {
					return errors.New("not accepting connections")
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
	s.admin = &http.Server{
		Handler:           admin.New(o),
		ReadHeaderTimeout: adminTimeout,
		ReadTimeout:       adminTimeout,
		WriteTimeout:      adminTimeout,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	return nil
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
	if s.transport != nil {
		s.transport.CloseIdleConnections()
	}
	if s.audit != nil {
		return s.audit.Close()
	}
	return nil
}
