package upstream

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"golang.org/x/net/proxy"
)

// maxAnswer bounds the head of a proxy's answer to CONNECT.
const maxAnswer = 64 << 10

// DialContext opens a connection to address through the proxy.
func (p *Proxy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if p.url.Scheme == "socks5" {
		return p.dialSocks(ctx, network, host, port)
	}
	if err := p.check(host, port); err != nil {
		return nil, err
	}
	conn, err := p.DialProxy(ctx, network, address)
	if err != nil {
		return nil, err
	}
	tunnel, err := p.connect(ctx, conn, address)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return tunnel, nil
}

// connect asks for a tunnel (RFC 9110 9.3.6).
func (p *Proxy) connect(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	if p.options.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.options.Timeout)
		defer cancel()
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{"User-Agent": {""}}}
	if u := p.url.User; u != nil {
		password, _ := u.Password()
		req.Header["Proxy-Authorization"] = []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password))}
	}
	if err := req.Write(conn); err != nil {
		return nil, &Error{Err: err}
	}
	limited := &io.LimitedReader{R: conn, N: maxAnswer}
	r := bufio.NewReader(limited)
	res, err := http.ReadResponse(r, req)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, &Error{Err: ctx.Err()}
	case err != nil:
		return nil, &Error{Err: err}
	case res.StatusCode != http.StatusOK:
		return nil, Refused(res.StatusCode)
	}
	if !stop() {
		return nil, &Error{Err: ctx.Err()}
	}
	if r.Buffered() == 0 {
		return conn, nil // as it is: sockets are spliced by the kernel
	}
	ahead, _ := r.Peek(r.Buffered())
	return &aheadConn{Conn: conn, ahead: ahead}, nil
}

// Refused is the error of a proxy that did not open a tunnel.
func Refused(status int) error { return &Error{Status: status} }

// aheadConn has octets that were read together with the answer to CONNECT.
type aheadConn struct {
	net.Conn
	ahead []byte
}

func (c *aheadConn) Read(b []byte) (int, error) {
	if len(c.ahead) > 0 {
		n := copy(b, c.ahead)
		c.ahead = c.ahead[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

// CloseWrite ends the sending side.
func (c *aheadConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// dialSocks resolves the name itself and gives the proxy addresses alone: what was
// judged is what is reached, however often the name changes its mind.
func (p *Proxy) dialSocks(ctx context.Context, network, host, port string) (net.Conn, error) {
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var auth *proxy.Auth
	if u := p.url.User; u != nil {
		password, _ := u.Password()
		auth = &proxy.Auth{User: u.Username(), Password: password}
	}
	d := &dialer{p: p}
	socks, err := proxy.SOCKS5("tcp", p.address, auth, d)
	if err != nil {
		return nil, err
	}
	through, ok := socks.(proxy.ContextDialer)
	if !ok {
		return nil, errors.New("socks5: no dialer with a context")
	}
	var denied, failed error
	for _, addr := range addrs {
		addr = addr.Unmap()
		if err := p.check(addr.String(), port); err != nil {
			denied = err
			continue
		}
		if err = p.dialAddr(ctx, through, network, addr, port); err == nil {
			return d.conn, nil
		}
		failed = err
	}
	if failed != nil {
		return nil, &Error{Err: failed}
	}
	return nil, denied
}

func (p *Proxy) dialAddr(ctx context.Context, through proxy.ContextDialer, network string, addr netip.Addr, port string) error {
	if p.options.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.options.Timeout)
		defer cancel()
	}
	_, err := through.DialContext(ctx, network, net.JoinHostPort(addr.String(), port))
	return err
}

// dialer connects to the proxy for the SOCKS client, and remembers the connection as
// it is. Wrapped, it could neither be spliced nor be asked whether it is closed.
type dialer struct {
	p    *Proxy
	conn net.Conn
}

func (d *dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

func (d *dialer) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := d.p.dial(ctx)
	d.conn = conn
	return conn, err
}
