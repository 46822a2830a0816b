package origin

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// hosts is an origin with TLS at every address of 127.0.0.0/8, a certificate to
// sixteen of them, so that signing takes nothing from what is measured. nginx is
// none for this: it wants files.
type hosts struct {
	authority *authority
	port      int
	next      atomic.Uint32
	server    *http.Server

	mu   sync.Mutex
	made map[[4]byte]*tls.Certificate // by the first of the addresses
}

// kept bounds the certificates that are kept: an address is asked for within a
// moment, and then never again.
const kept = 1024

func startHosts(a *authority) (*hosts, error) {
	h := &hosts{authority: a, made: map[[4]byte]*tls.Certificate{}}
	// All addresses of the loopback interface, and of no other.
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		return errors.Join(c.Control(func(fd uintptr) {
			err = syscall.SetsockoptString(int(fd), syscall.SOL_SOCKET, syscall.SO_BINDTODEVICE, "lo")
		}), err)
	}}
	l, err := config.Listen(context.Background(), "tcp4", "0.0.0.0:0")
	if err != nil {
		return nil, fmt.Errorf("an origin of many addresses: %w", err)
	}
	h.port = l.Addr().(*net.TCPAddr).Port
	h.server = &http.Server{
		Handler: http.HandlerFunc(answer), ReadHeaderTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // connections break off when a window ends
		TLSConfig: &tls.Config{
			GetCertificate: h.certificate, NextProtos: []string{"http/1.1"},
			CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256}, // as nginx with OpenSSL 3.0
		},
	}
	go func() { _ = h.server.ServeTLS(l, "", "") }()
	return h, nil
}

func answer(w http.ResponseWriter, r *http.Request) {
	body := small
	if r.URL.Path == "/robots.txt" {
		body = []byte(Robots)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(body)
}

func (h *hosts) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	first := [4]byte(hello.Conn.LocalAddr().(*net.TCPAddr).IP.To4())
	first[3] &^= 15
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.made[first]; c != nil {
		return c, nil
	}
	var ips []net.IP
	for i := range byte(16) {
		ips = append(ips, net.IPv4(first[0], first[1], first[2], first[3]+i))
	}
	c, err := h.authority.leaf(ips...)
	if err != nil {
		return nil, err
	}
	if len(h.made) >= kept {
		clear(h.made)
	}
	h.made[first] = c
	return c, nil
}

// fresh is an address that was never asked before: from 127.1.0.0 on.
func (h *hosts) fresh() string {
	n := h.next.Add(1) + 1<<16
	return fmt.Sprintf("127.%d.%d.%d:%d", n>>16&0xff, n>>8&0xff, n&0xff, h.port)
}
