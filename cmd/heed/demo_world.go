package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"heed/fetch"
	"heed/internal/ca"
	"heed/internal/config"
	"heed/internal/netguard"
	"heed/proxy"
)

// demoWorld is the sites, the heed before them, and what the heed recorded.
type demoWorld struct {
	dir     string
	sites   map[string]string // host:port as asked for, to the listener's address
	servers []*http.Server
	roots   *x509.CertPool // of the sites
	client  *http.Client
	close   []func()

	mu      sync.Mutex
	records []proxy.Record
}

// startSites serves each site on a port of its own.
func (w *demoWorld) startSites() error {
	authority, err := ca.Open(w.dir + "/sites")
	if err != nil {
		return err
	}
	w.roots.AppendCertsFromPEM(authority.PEM())
	for _, s := range demoSites {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		srv := &http.Server{Handler: s, ReadHeaderTimeout: demoTimeout, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
		w.servers = append(w.servers, srv)
		if s.scheme == "http" {
			w.sites[s.host+":80"] = l.Addr().String()
			go srv.Serve(l) // it ends when it is closed
			continue
		}
		leaf, err := authority.Leaf(s.host)
		if err != nil {
			return err
		}
		w.sites[s.host+":443"] = l.Addr().String()
		srv.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*leaf}, MinVersion: tls.VersionTLS12}
		go srv.ServeTLS(l, "", "") // as above
	}
	return nil
}

// demoTimeout bounds whatever the demo waits for.
const demoTimeout = 10 * time.Second

func (s *demoSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if r.URL.Path == "/robots.txt" {
		_, _ = io.WriteString(w, s.robots)
		return
	}
	fmt.Fprintf(w, "%s of %s\n", r.URL.Path, s.host)
}

// startHeed runs a heed that may dial the sites alone, and a client that goes
// through it and trusts its CA.
func (w *demoWorld) startHeed() error {
	loaded, err := config.Load(config.Options{Defaults: map[string]string{"agent.tokens": demoAgent}, ReadFile: noFile})
	if err != nil {
		return err
	}
	c := loaded.Config
	authority, err := ca.Open(w.dir + "/heed")
	if err != nil {
		return err
	}
	r := &reach{guard: netguard.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, nil)}
	loopback := r.guard.DialContext(demoTimeout)
	r.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		site, ok := w.sites[address]
		if !ok {
			return nil, &netguard.DeniedError{Why: address + " is no site of the demo"}
		}
		return loopback(ctx, network, site)
	}
	r.transport = newTransport(c, r.dial, w.roots, proxy.Hosts{})
	store := fetch.New(storeOptions(c, r.transport, slog.New(slog.DiscardHandler)))
	o, err := proxyOptions(c, r, store, authority)
	if err != nil {
		return err
	}
	o.OnRecord = func(rec *proxy.Record) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.records = append(w.records, *rec)
	}
	p, err := proxy.New(o)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	r.guard.RefuseListener(l.Addr())
	go p.Serve(l) // it ends in drain
	w.client = demoClient(l.Addr().String(), authority)
	w.close = append(w.close, func() {
		w.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), demoTimeout)
		defer cancel()
		_ = p.Shutdown(ctx)
		store.Close()
		r.transport.CloseIdleConnections()
	})
	return nil
}

// ask sends one request as a crawler would.
func (w *demoWorld) ask(ctx context.Context, method, url string) error {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", demoAgent)
	res, err := w.client.Do(req)
	if err != nil {
		return &failure{exitUnknown, fmt.Errorf("demo: %w", err), ""}
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// drain ends the heed, after which every record is there.
func (w *demoWorld) drain() error {
	for _, f := range w.close {
		f()
	}
	w.close = nil
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortStableFunc(w.records, func(a, b proxy.Record) int { return a.Time.Compare(b.Time) })
	if len(w.records) != len(demoPaths) {
		return fmt.Errorf("demo: %d records of %d requests", len(w.records), len(demoPaths))
	}
	return nil
}

// end leaves nothing behind.
func (w *demoWorld) end() error {
	for _, f := range w.close {
		f()
	}
	for _, s := range w.servers {
		_ = s.Close()
	}
	if w.dir == "" {
		return nil
	}
	return os.RemoveAll(w.dir)
}

// demoClient returns a client that goes through the proxy at addr and trusts
// authority alone.
func demoClient(addr string, authority *ca.Authority) *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.PEM())
	return &http.Client{
		Transport: &http.Transport{
			Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: addr}),
			TLSClientConfig:   &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2: true,
		},
		Timeout: demoTimeout,
	}
}

// noFile is the file system of a command that does not look for a
// configuration: the demo shows the same thing everywhere.
func noFile(string) ([]byte, error) { return nil, fs.ErrNotExist }
