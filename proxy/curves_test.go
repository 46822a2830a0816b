package proxy_test

import (
	"crypto/tls"
	"net"
	"testing"
)

// farListener takes connections from this machine for those of another.
type farListener struct{ net.Listener }

func (l farListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return farConn{c}, nil
}

type farConn struct{ net.Conn }

func (farConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

// What is recorded on a network may be read by the computers to come; over
// loopback the client is spared the price of preventing that.
func TestHybridKeyExchangeWithClientsOfOtherMachines(t *testing.T) {
	exchanged := func(h *heed) tls.CurveID {
		return h.secure(h.tunnel("h.example:443"), "h.example").ConnectionState().CurveID
	}
	near := exchanged(start(t, robots{}, nil))
	far := exchanged(startOn(t, func(l net.Listener) net.Listener { return farListener{l} }, robots{}, nil))
	if near != tls.X25519 || far != tls.X25519MLKEM768 {
		t.Errorf("key exchange over loopback %v, from elsewhere %v", near, far)
	}
}
