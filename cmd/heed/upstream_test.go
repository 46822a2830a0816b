package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// startUpstream runs a small proxy of the kind http, https or socks5.
func startUpstream(t *testing.T, kind string, leaf *tls.Certificate, credentials bool) chain {
	t.Helper()
	n := new(atomic.Int64)
	c := chain{scheme: kind, connections: func() int { return int(n.Load()) }, targets: new(sync.Map)}
	if kind == "socks5" {
		c.addr = startSocks(t, n, credentials)
		return c
	}
	u := &httpUpstream{credentials: credentials, targets: c.targets}
	u.transport = &http.Transport{DialContext: dialFrom}
	s := httptest.NewUnstartedServer(u)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			n.Add(1)
		}
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if kind == "https" {
		s.TLS = &tls.Config{Certificates: []tls.Certificate{*leaf}}
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(func() {
		u.transport.CloseIdleConnections()
		s.Close()
	})
	c.addr = s.Listener.Addr().String()
	return c
}

// dialFrom connects from the address of upstream proxies, to where that can be
// done.
func dialFrom(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 5 * time.Second}
	if strings.HasPrefix(address, "127.") {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(outgoing)}
	}
	c, err := d.DialContext(ctx, network, address)
	if err == nil {
		outgoingConns.Store(c.LocalAddr().String(), true)
	}
	return c, err
}

// outgoingConns are the local addresses of what dialFrom has connected.
var outgoingConns sync.Map

// httpUpstream is an HTTP proxy as simple as can be: one that does not know what
// an upgrade is.
type httpUpstream struct {
	credentials bool
	transport   *http.Transport
	targets     *sync.Map // request-targets that it was sent
}

func (u *httpUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.targets.Store(r.RequestURI, true)
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(upstreamUser+":"+upstreamPassword))
	if u.credentials && r.Header.Get("Proxy-Authorization") != want {
		w.Header().Set("Proxy-Authenticate", `Basic realm="upstream"`)
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	if r.Method == http.MethodConnect {
		u.connect(w, r)
		return
	}
	if !r.URL.IsAbs() {
		http.Error(w, "not a request to a proxy: "+r.RequestURI, http.StatusBadRequest)
		return
	}
	r.RequestURI = ""
	r.Header.Del("Proxy-Authorization")
	r.Header.Del("Upgrade")
	res, err := u.transport.RoundTrip(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer res.Body.Close()
	for name, values := range res.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, res.Body)
}

func (u *httpUpstream) connect(w http.ResponseWriter, r *http.Request) {
	origin, err := dialFrom(r.Context(), "tcp", r.RequestURI)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	client, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = origin.Close()
		return
	}
	_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	both(client, origin, rw.Reader)
}

// both relays until one side ends.
func both(client, origin net.Conn, from io.Reader) {
	done := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(origin, from); done <- struct{}{} }()
	go func() { _, _ = io.Copy(client, origin); done <- struct{}{} }()
	<-done
	_, _ = client.Close(), origin.Close()
	<-done
}

// startSocks runs a SOCKS5 proxy (RFC 1928, RFC 1929) that takes no names.
func startSocks(t *testing.T, n *atomic.Int64, credentials bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			go func() {
				defer c.Close()
				if err := socks(c, credentials); err != nil {
					t.Errorf("socks: %v", err)
				}
			}()
		}
	}()
	return l.Addr().String()
}

func socks(c net.Conn, credentials bool) error {
	r := bufio.NewReader(c)
	head := make([]byte, 2)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil
	}
	if _, err := r.Discard(int(head[1])); err != nil {
		return err
	}
	if credentials {
		_, _ = c.Write([]byte{5, 2})
		_, _ = r.Discard(1)
		user, password := field(r), field(r)
		if user != upstreamUser || password != upstreamPassword {
			_, _ = c.Write([]byte{1, 1})
			return fmt.Errorf("credentials %q %q", user, password)
		}
		_, _ = c.Write([]byte{1, 0})
	} else {
		_, _ = c.Write([]byte{5, 0})
	}
	request := make([]byte, 4)
	if _, err := io.ReadFull(r, request); err != nil {
		return err
	}
	size := map[byte]int{1: 4, 4: 16}[request[3]]
	if size == 0 {
		return fmt.Errorf("an address of type %d: names are not to be resolved here", request[3])
	}
	to := make([]byte, size+2)
	if _, err := io.ReadFull(r, to); err != nil {
		return err
	}
	address := net.JoinHostPort(net.IP(to[:size]).String(), fmt.Sprint(int(to[size])<<8|int(to[size+1])))
	origin, err := dialFrom(context.Background(), "tcp", address)
	if err != nil {
		_, _ = c.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		return nil
	}
	_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	both(c, origin, r)
	return nil
}

// field reads an octet and as many octets as it says.
func field(r *bufio.Reader) string {
	n, _ := r.ReadByte()
	b := make([]byte, n)
	_, _ = io.ReadFull(r, b)
	return string(b)
}
