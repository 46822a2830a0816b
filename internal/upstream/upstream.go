// Package upstream leads the way out through another proxy: an HTTP proxy, in the
// open or over TLS, or one that speaks SOCKS5 (RFC 1928, RFC 1929).
//
// What may be reached is judged as far as it is known here. An address in a URL
// is judged whatever the proxy; a name is resolved here and judged by its
// addresses before a SOCKS proxy is given one of them, but an HTTP proxy resolves
// names itself, and must judge them, too. The proxy's own address is the
// operator's choice and is not judged, but it is never a listener of heed's own.
package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Options say which proxy leads out, and how it is reached.
type Options struct {
	// Proxy is a URL with the scheme http, https or socks5, or "env": the proxies
	// that the environment names, or "": none.
	Proxy   string
	Getenv  func(string) string // for "env"; nil: nothing is set
	TLS     *tls.Config         // roots for an https proxy; nil: the system's
	Timeout time.Duration       // for a connection; 0: the caller's context alone

	// Check judges the address of an origin; required. Own says of the proxy's
	// address whether heed itself listens there, by an error; nil: it does not.
	Check, Own func(netip.AddrPort) error
}

// Proxies choose a proxy for each URL. Nil and the zero value choose none. They
// are safe for concurrent use.
type Proxies struct {
	choose func(*url.URL) (*url.URL, error)
	known  map[string]*Proxy // by URL
}

// A Proxy leads to origins.
type Proxy struct {
	url     *url.URL
	address string // host:port
	options Options
	tls     *tls.Config // nil: in the open
}

// New reads the settings. The error names what is wrong without credentials.
func New(o Options) (*Proxies, error) {
	var settings []string
	p := &Proxies{known: map[string]*Proxy{}}
	switch o.Proxy {
	case "":
		return p, nil
	case "env":
		c := fromEnvironment(o.Getenv)
		settings, p.choose = []string{c.HTTPProxy, c.HTTPSProxy}, c.ProxyFunc()
	default:
		u, err := url.Parse(o.Proxy)
		if err != nil {
			return nil, errors.New("not a URL")
		}
		settings, p.choose = []string{o.Proxy}, func(*url.URL) (*url.URL, error) { return u, nil }
	}
	for _, s := range settings {
		if s == "" {
			continue
		}
		if !strings.Contains(s, "://") {
			s = "http://" + s // as the variables may be written
		}
		u, err := url.Parse(s)
		if err != nil || u.Hostname() == "" {
			return nil, errors.New("not a URL with a host")
		}
		proxy, err := newProxy(u, o)
		if err != nil {
			return nil, err
		}
		p.known[u.String()] = proxy
	}
	return p, nil
}

// fromEnvironment reads the variables in either case, the lower one first, as
// curl does.
func fromEnvironment(getenv func(string) string) *httpproxy.Config {
	get := func(name string) string {
		if getenv == nil {
			return ""
		}
		if v := getenv(strings.ToLower(name)); v != "" {
			return v
		}
		return getenv(name)
	}
	return &httpproxy.Config{HTTPProxy: get("HTTP_PROXY"), HTTPSProxy: get("HTTPS_PROXY"), NoProxy: get("NO_PROXY")}
}

func newProxy(u *url.URL, o Options) (*Proxy, error) {
	p := &Proxy{url: u, options: o}
	port := u.Port()
	switch u.Scheme {
	case "http":
		port = orElse(port, "80")
	case "https":
		port = orElse(port, "443")
		p.tls = o.TLS.Clone()
		if p.tls == nil {
			p.tls = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		p.tls.ServerName, p.tls.NextProtos = u.Hostname(), []string{"http/1.1"}
	case "socks5":
		port = orElse(port, "1080")
	default:
		return nil, fmt.Errorf("a proxy of the kind %q: want http, https or socks5", u.Scheme)
	}
	p.address = net.JoinHostPort(u.Hostname(), port)
	return p, nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// All returns each proxy that may be chosen.
func (p *Proxies) All() []*Proxy {
	var all []*Proxy
	if p != nil {
		for _, proxy := range p.known {
			all = append(all, proxy)
		}
	}
	return all
}

// For returns the proxy that leads to u; nil is none. Only scheme, host and port
// of u count.
func (p *Proxies) For(u *url.URL) (*Proxy, error) {
	if p == nil || p.choose == nil {
		return nil, nil
	}
	chosen, err := p.choose(&url.URL{Scheme: u.Scheme, Host: u.Host})
	if err != nil || chosen == nil {
		return nil, err
	}
	proxy := p.known[chosen.String()]
	if proxy == nil {
		return nil, &Error{Err: errors.New("one that was not there at the start")}
	}
	return proxy, nil
}

// DialFunc opens connections.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Dial returns a DialFunc that leads through the proxy chosen for a tunnel to the
// address, and where none is chosen is direct.
func (p *Proxies) Dial(direct DialFunc) DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		proxy, err := p.For(&url.URL{Scheme: "https", Host: address})
		if err != nil {
			return nil, err
		}
		if proxy == nil {
			return direct(ctx, network, address)
		}
		return proxy.DialContext(ctx, network, address)
	}
}

// Forwards returns the URL under which requests in the open are sent to the proxy
// itself, and whether it takes any: a SOCKS proxy does not. TLS is dealt with by
// DialProxy, so the scheme is always http.
func (p *Proxy) Forwards() (*url.URL, bool) {
	return &url.URL{Scheme: "http", User: p.url.User, Host: p.address}, p.url.Scheme != "socks5"
}

// DialProxy connects to the proxy itself, wherever the arguments would lead.
func (p *Proxy) DialProxy(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := p.dial(ctx)
	if err != nil {
		return nil, &Error{Err: err}
	}
	return conn, nil
}

func (p *Proxy) dial(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{Timeout: p.options.Timeout, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		addr, err := netip.ParseAddrPort(address)
		if err != nil || p.options.Own == nil {
			return err
		}
		return p.options.Own(addr)
	}}
	conn, err := d.DialContext(ctx, "tcp", p.address)
	if err != nil || p.tls == nil {
		return conn, err
	}
	if p.options.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.options.Timeout)
		defer cancel()
	}
	secure := tls.Client(conn, p.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

// CheckURL judges the host of u where it is an address, or a name that stands for
// this machine (RFC 6761 6.3).
func (p *Proxy) CheckURL(u *url.URL) error {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return p.check(u.Hostname(), port)
}

func (p *Proxy) check(host, port string) error {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("port %q", port)
	}
	addr, err := netip.ParseAddr(host)
	if err == nil {
		return p.options.Check(netip.AddrPortFrom(addr, uint16(n)))
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name != "localhost" && !strings.HasSuffix(name, ".localhost") {
		return nil
	}
	err = p.options.Check(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(n)))
	if err != nil && p.options.Check(netip.AddrPortFrom(netip.IPv6Loopback(), uint16(n))) == nil {
		return nil
	}
	return err
}
