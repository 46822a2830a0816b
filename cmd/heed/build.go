package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"heed/fetch"
	"heed/internal/ca"
	"heed/internal/config"
	"heed/internal/netguard"
	"heed/internal/upstream"
	"heed/proxy"
)

// dialFunc opens connections to origins.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// reach is how origins are reached, by carried requests and robots.txt alike.
type reach struct {
	guard     *netguard.Guard
	dial      dialFunc
	transport *proxy.Transport
	roots     *x509.CertPool // that origins are verified against; nil: the system's
}

func newReach(c config.Config, e env) (*reach, error) {
	roots, err := originRoots(c.Egress.CAFile)
	if err != nil {
		return nil, err
	}
	r := &reach{guard: netguard.New(c.Egress.Allow, c.Egress.Deny), roots: roots}
	direct := r.guard.DialContext(c.Egress.DialTimeout)
	insecure, err := proxy.ParseHosts(c.Egress.InsecureHosts)
	if err != nil {
		return nil, fmt.Errorf("egress.insecure_hosts: %w", err)
	}
	proxies, err := newUpstreams(c.Egress, r.guard, roots, e)
	if err != nil {
		return nil, err
	}
	r.dial = dialFunc(proxies.Dial(upstream.DialFunc(direct)))
	o := transportOptions(c, direct, roots, insecure)
	o.Upstreams = proxies
	r.transport = proxy.NewTransport(o)
	return r, nil
}

// newUpstreams reads egress.proxy. Of the guard's refusals only one concerns the
// proxy itself: what the operator names may be dialled, but not heed by heed.
func newUpstreams(c config.Egress, guard *netguard.Guard, roots *x509.CertPool, e env) (*upstream.Proxies, error) {
	p, err := upstream.New(upstream.Options{
		Proxy: c.Proxy, Getenv: e.getenv, Timeout: c.DialTimeout, Check: guard.CheckPort,
		TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		Own: func(addr netip.AddrPort) error {
			var denied *netguard.DeniedError
			if err := guard.CheckPort(addr); errors.As(err, &denied) && denied.Own {
				return err
			}
			return nil
		},
	})
	if err != nil {
		return nil, usage("http://, https:// or socks5:// with [user:password@]host:port", "egress.proxy: %w", err)
	}
	return p, nil
}

func newTransport(c config.Config, dial dialFunc, roots *x509.CertPool, insecure proxy.Hosts) *proxy.Transport {
	return proxy.NewTransport(transportOptions(c, dial, roots, insecure))
}

func transportOptions(c config.Config, dial dialFunc, roots *x509.CertPool, insecure proxy.Hosts) proxy.TransportOptions {
	return proxy.TransportOptions{
		Dial:                  dial,
		TLS:                   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		Insecure:              insecure,
		ResponseHeaderTimeout: c.Egress.ResponseHeaderTimeout,
		TLSHandshakeTimeout:   c.Egress.DialTimeout,
		IdleTimeout:           c.Egress.IdleTimeout,
		HeaderBytes:           int64(c.Limits.HeaderBytes),
	}
}

// originRoots returns the roots that origins are verified against: nil, which
// is the system's, or the system's and those in file.
func originRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("egress.ca_file: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("egress.ca_file: %s holds no certificate in PEM", file)
	}
	return pool, nil
}

// storeOptions turns a configuration into those of the robots.txt store.
func storeOptions(c config.Config, transport http.RoundTripper, log *slog.Logger) fetch.Options {
	return fetch.Options{
		Transport:    transport,
		UserAgent:    userAgent(c.Agent),
		Timeout:      c.Robots.Timeout,
		TTL:          c.Robots.TTL,
		MinTTL:       c.Robots.MinTTL,
		ErrorTTL:     c.Robots.ErrorTTL,
		StaleFor:     orNever(c.Robots.StaleFor),
		MaxSize:      int64(c.Robots.MaxSize),
		MaxRedirects: c.Robots.MaxRedirects,
		MaxOrigins:   c.Robots.MaxOrigins,
		MaxMemory:    int64(c.Robots.MaxMemory),
		MaxFetches:   c.Robots.MaxFetches,
		MaxWaiting:   c.Robots.MaxWaiting,
		StoreTimeout: c.Robots.StoreTimeout,
		Log:          log,
	}
}

// orNever is how options say that nothing is meant: 0 would be their default.
func orNever(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// proxyOptions turns a configuration into those of the proxy. authority is nil
// in tunnel mode.
func proxyOptions(c config.Config, r *reach, source proxy.Source, authority *ca.Authority) (proxy.Options, error) {
	tunnels, err := newTunnels(c.HTTPS)
	if err != nil {
		return proxy.Options{}, err
	}
	d, err := decider(c, source)
	if err != nil {
		return proxy.Options{}, err
	}
	o := proxy.Options{
		Decider:              d,
		Transport:            r.transport,
		Dial:                 r.dial,
		Monitor:              c.Mode == "monitor",
		HTTP2:                c.HTTPS.HTTP2,
		TunnelHosts:          tunnels.hosts,
		TunnelPolicy:         tunnels.policy,
		ConnectPorts:         tunnels.ports,
		UserAgent:            userAgent(c.Agent),
		Rewrite:              map[string]proxy.Rewrite{"missing": proxy.RewriteMissing, "always": proxy.RewriteAlways}[c.Agent.Rewrite],
		UnreachableStatus:    c.Refusal.UnreachableStatus,
		HeaderBytes:          int(c.Limits.HeaderBytes),
		HeaderTimeout:        c.Limits.HeaderTimeout,
		IdleTimeout:          c.Limits.IdleTimeout,
		Connections:          c.Limits.Connections,
		ConnectionsPerClient: c.Limits.ConnectionsPerClient,
	}
	if o.TLS, err = listenTLS(c.TLS); err != nil {
		return proxy.Options{}, err
	}
	if authority != nil {
		o.Leaf = authority.Leaf
	}
	return o, nil
}

// listenTLS returns what the proxy port speaks TLS with; nil without a certificate.
func listenTLS(c config.TLS) (*tls.Config, error) {
	if c.Cert == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, usage("tls.cert and tls.key name a certificate and its key, in PEM", "tls: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}

// proxyURL is what clients set for a proxy at addr.
func proxyURL(c config.TLS, addr string) string {
	if c.Cert != "" {
		return "https://" + addr
	}
	return "http://" + addr
}

// userAgent names the product token, so that a site's owner finds the group
// that applies (RFC 9309 2.2.1), and heed.
func userAgent(a config.Agent) string {
	if a.UserAgent != "" {
		return a.UserAgent
	}
	token, _, _ := strings.Cut(a.Tokens[0], "/")
	return token + " heed/" + version()
}

// caDir is where the interception CA lies.
func caDir(c config.Config, e env) string {
	if c.HTTPS.CADir != "" {
		return c.HTTPS.CADir
	}
	return ca.DefaultDir(e.getenv)
}
