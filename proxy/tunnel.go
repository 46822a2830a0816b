package proxy

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"heed/policy"
)

// tunnel relays octets that heed cannot read, once the first of them have shown
// that they are what was judged: TLS for the CONNECT host. Requests in the open
// are served and judged like any other.
func (x *exchange) tunnel(client *clientConn, origin net.Conn) {
	x.limitSilence(client)
	first, err := client.peek()
	if err == nil && isMethodStart(first) {
		x.silent = true
		x.interceptPlain(client)
		return
	}
	if err == nil && first != recordHandshake {
		err = errFirst(first)
	}
	if err == nil {
		err = checkServerName(client)
	}
	if err != nil {
		x.fail(policy.ReasonBadRequest, err)
		if errors.Is(err, errServerName) {
			x.rec.Decision.Reason = policy.ReasonHostMismatch
		}
		return
	}
	_ = client.SetDeadline(time.Time{})
	x.p.opening.remove(client)
	if !x.p.tunnels.add(client) {
		x.rec.Err = errShutdown.Error()
		return
	}
	defer x.p.tunnels.remove(client)
	x.open(x.w.status)
	x.relay(client, origin)
}

// relay copies both ways until both sides have ended. One side's end is passed
// on as the end of what is sent to the other. Sockets are spliced by the kernel.
func (x *exchange) relay(client *clientConn, origin net.Conn) {
	sent := make(chan error, 1)
	go func() {
		n, err := x.send(client, origin)
		x.w.received.Store(n)
		_ = closeWrite(origin)
		sent <- err
	}()
	n, err := io.Copy(client.Conn, origin)
	x.w.written.Store(n)
	_ = client.CloseWrite()
	if err != nil {
		_ = client.Close() // the other direction is not going to end by itself
	}
	if sendErr := <-sent; err == nil {
		err = sendErr
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		x.rec.Err = err.Error()
	}
}

// send relays what the client sends, what was read ahead first.
func (x *exchange) send(client *clientConn, origin net.Conn) (int64, error) {
	ahead, err := origin.Write(client.ahead)
	if err != nil {
		_ = origin.Close()
		return int64(ahead), err
	}
	n, err := io.Copy(origin, client.Conn)
	if err != nil {
		_ = origin.Close()
	}
	return int64(ahead) + n, err
}

// errServerName marks a ClientHello for another host than the CONNECT's.
var errServerName = errors.New("the TLS server name is not the CONNECT host")

// checkServerName reads the ClientHello, keeps it to be sent on, and refuses a
// server name (RFC 6066 3) other than the CONNECT host: the tunnel was judged by
// that. Addresses are never server names, so none is expected for them.
func checkServerName(client *clientConn) error {
	seen := &helloConn{Conn: client}
	var name string
	var read bool
	stop := errors.New("read")
	err := tls.Server(seen, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		name, read = hello.ServerName, true
		return nil, stop
	}}).Handshake()
	client.ahead = append(seen.read, client.ahead...)
	if !read {
		return fmt.Errorf("no TLS ClientHello: %w", err)
	}
	if name == "" {
		return nil
	}
	sni, err := policy.ParseOrigin("https", name)
	if err != nil || sni.Host != client.origin.Host {
		return fmt.Errorf("%w: %q instead of %q", errServerName, name, client.origin.Host)
	}
	return nil
}

// helloConn keeps what is read and sends nothing.
type helloConn struct {
	net.Conn
	read []byte
}

func (c *helloConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read = append(c.read, b[:n]...)
	return n, err
}

func (c *helloConn) Write(b []byte) (int, error) { return len(b), nil }
