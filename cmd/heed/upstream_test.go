package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"heed/internal/testtool"
)

// startUpstream runs a small proxy of the kind http, https or socks5.
func startUpstream(t *testing.T, kind string, leaf *tls.Certificate, credentials bool) chain {
	t.Helper()
	n := new(atomic.Int64)
	c := chain{scheme: kind, connections: func() int { return int(n.Load()) }}
	if kind == "socks5" {
		c.addr = startSocks(t, n, credentials)
		return c
	}
	u := &httpUpstream{credentials: credentials}
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
	return d.DialContext(ctx, network, address)
}

// httpUpstream is an HTTP proxy as simple as can be: one that does not know what
// an upgrade is.
type httpUpstream struct {
	credentials bool
	transport   *http.Transport
}

func (u *httpUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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

// startSquid runs Debian's squid.
func startSquid(t *testing.T, scheme string, leaf *tls.Certificate, credentials bool) chain {
	t.Helper()
	program := testtool.Path(t, "squid")
	dir, err := os.MkdirTemp("", "squid-") // t.TempDir would be closed to it: it gives up root
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return file
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	port := "http_port " + addr
	if scheme == "https" {
		port = "https_port " + addr + " tls-cert=" + write("squid.pem", pemOf(t, leaf))
	}
	access := "http_access allow all"
	if credentials {
		// The helper gets spaces and percent signs percent-encoded.
		helper := write("auth", "#!/bin/sh\nwhile read -r line; do [ \"$line\" = 'proxy%20user p@ss:w%25rd' ] && echo OK || echo \"ERR $line\"; done\n")
		access = "auth_param basic program " + helper + "\nauth_param basic children 1\nacl known proxy_auth REQUIRED\nhttp_access allow known\nhttp_access deny all"
	}
	logFile := filepath.Join(dir, "access.log")
	conf := write("squid.conf", strings.Join([]string{
		port, access, "cache deny all", "cache_mem 1 MB", "pid_filename none", "tcp_outgoing_address " + outgoing,
		"access_log stdio:" + logFile, "cache_log " + filepath.Join(dir, "cache.log"), "coredump_dir " + dir,
		"logfile_rotate 0", "shutdown_lifetime 1 second", "visible_hostname upstream.example", "pinger_enable off",
		"netdb_filename none", "cache_store_log none", "dns_nameservers 127.0.0.1", "buffered_logs off", "",
	}, "\n"))
	cmd := exec.Command(program, "-N", "-f", conf)
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			_ = c.Close()
			break
		}
		if time.Now().After(deadline) || t.Context().Err() != nil {
			said, _ := os.ReadFile(filepath.Join(dir, "cache.log"))
			more, _ := os.ReadFile(out.Name())
			t.Fatalf("squid does not listen: %s%s", said, more)
		}
	}
	return chain{scheme: scheme, addr: addr, connections: func() int {
		text, _ := os.ReadFile(logFile)
		return strings.Count(string(text), "\n")
	}}
}

// pemOf is a certificate with its chain and key.
func pemOf(t *testing.T, leaf *tls.Certificate) string {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	out := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	for _, der := range leaf.Certificate {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return string(out)
}
