package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"heed/internal/testtool"
)

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
