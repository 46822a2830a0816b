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

// hosts is an origin with TLS at every address of 127.0.0.0/8, each with a
// certificate of its own. nginx is none for this: it wants files.
type hosts struct {
	authority *authority
	port      int
	next      atomic.Uint32
	server    *http.Server

	mu   sync.Mutex
	made map[string]*tls.Certificate
}

// kept bounds the certificates that are kept: a proxy that asks for robots.txt,
// too, comes twice within a moment, and then never again.
const kept = 1024

func startHosts(a *authority) (*hosts, error) {
	h := &hosts{authority: a, made: map[string]*tls.Certificate{}}
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
		ErrorLog:  log.New(io.Discard, "", 0), // connections break off when a window ends
		TLSConfig: &tls.Config{GetCertificate: h.certificate, NextProtos: []string{"http/1.1"}},
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
	ip := hello.Conn.LocalAddr().(*net.TCPAddr).IP
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.made[ip.String()]; c != nil {
		return c, nil
	}
	c, err := h.authority.leaf(ip)
	if err != nil {
		return nil, err
	}
	if len(h.made) >= kept {
		clear(h.made)
	}
	h.made[ip.String()] = c
	return c, nil
}

// fresh is an address that was never asked before: from 127.1.0.0 on.
func (h *hosts) fresh() string {
	n := h.next.Add(1) + 1<<16
	return fmt.Sprintf("127.%d.%d.%d:%d", n>>16&0xff, n>>8&0xff, n&0xff, h.port)
}
