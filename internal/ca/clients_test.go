package ca

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"heed/internal/testtool"
)

func run(t *testing.T, stdin string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// authorities are heed's own CA and an imported one whose identifier is no hash.
func authorities(t *testing.T) map[string]*Authority {
	t.Helper()
	key := rsaKey(t, 2048)
	template := caTemplate()
	template.SubjectKeyId = []byte{1, 2, 3, 4}
	imported, err := Open(writeCA(t, selfSigned(t, template, key), pkcs8(t, key)))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return map[string]*Authority{"own": open(t), "imported": imported}
}

// server serves TLS with a leaf for names until the test ends.
func server(t *testing.T, a *Authority, names ...string) (port string) {
	t.Helper()
	// A config with Certificates beside GetCertificate asks the latter only when the client names a server.
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return a.Leaf(names...) },
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "hello")
		}),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(t.Output(), "", 0),
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		_ = s.Close()
		serving.Wait()
	})
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestGoClient(t *testing.T) {
	for kind, a := range authorities(t) {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(a.PEM())
		port := server(t, a, "localhost", "127.0.0.1")
		for _, host := range []string{"localhost", "127.0.0.1"} {
			conn, err := tls.Dial("tcp", net.JoinHostPort("127.0.0.1", port), &tls.Config{RootCAs: roots, ServerName: host})
			if err != nil {
				t.Errorf("%s CA, %s: %v", kind, host, err)
				continue
			}
			if peers := conn.ConnectionState().PeerCertificates; len(peers) != 2 {
				t.Errorf("%s CA: %d certificates sent, want 2", kind, len(peers))
			}
			_ = conn.Close()
		}
	}
}

func TestOpenSSLStrict(t *testing.T) {
	openssl := testtool.Path(t, "openssl")
	label := strings.Repeat("a", 60)
	for kind, a := range authorities(t) {
		for flag, hosts := range map[string][]string{
			"-verify_hostname": {"example.com", label + "." + label + ".example"},
			"-verify_ip":       {"192.0.2.1", "2001:db8::1"},
		} {
			for _, host := range hosts {
				t.Run(kind+" "+host[:9], func(t *testing.T) {
					path := filepath.Join(t.TempDir(), "leaf.pem")
					write(t, path, encode(pemCertificate, leaf(t, a, host).Raw), 0o600)
					run(t, "", openssl, "verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", a.Path(), flag, host, path)
				})
			}
		}
	}
}

func TestFingerprintsAsOpenSSLPrintsThem(t *testing.T) {
	openssl := testtool.Path(t, "openssl")
	a := open(t)
	out := run(t, "", openssl, "x509", "-in", a.Path(), "-noout", "-fingerprint", "-sha256")
	if _, want, _ := strings.Cut(strings.TrimSpace(out), "="); a.Fingerprint() != want {
		t.Errorf("Fingerprint() = %s, openssl prints %s", a.Fingerprint(), want)
	}
	public := run(t, "", openssl, "x509", "-in", a.Path(), "-noout", "-pubkey")
	der := run(t, public, openssl, "pkey", "-pubin", "-outform", "DER")
	digest := run(t, der, openssl, "dgst", "-sha256", "-binary")
	if want := strings.TrimSpace(run(t, digest, openssl, "base64")); a.SPKIHash() != want {
		t.Errorf("SPKIHash() = %s, openssl says %s", a.SPKIHash(), want)
	}
}

const pythonClient = `
import socket, ssl, sys
ca, port, *hosts = sys.argv[1:]
for host in hosts:
    context = ssl.create_default_context(cafile=ca)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    with socket.create_connection(("127.0.0.1", int(port)), timeout=10) as raw:
        with context.wrap_socket(raw, server_hostname=host) as tls:
            tls.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert b"200 OK" in tls.recv(4096)
`

func TestPythonStrict(t *testing.T) {
	python := testtool.Python(t, "ssl")
	for kind, a := range authorities(t) {
		t.Run(kind, func(t *testing.T) {
			port := server(t, a, "localhost", "127.0.0.1")
			run(t, pythonClient, python, "-", a.Path(), port, "localhost", "127.0.0.1")
		})
	}
}

func TestCurlWithTheBundle(t *testing.T) {
	curl := testtool.Path(t, "curl")
	a := open(t)
	bundle, err := a.Bundle(os.Getenv)
	if err != nil {
		testtool.Missing(t, "a system bundle to add to: "+err.Error())
	}
	path := filepath.Join(t.TempDir(), "bundle.pem")
	write(t, path, bundle, 0o600)
	if !bytes.HasSuffix(bundle, a.PEM()) {
		t.Error("the CA is not at the end of the bundle")
	}
	port := server(t, a, "127.0.0.1")
	if out := run(t, "", curl, "-sS", "--noproxy", "*", "--cacert", path, "https://127.0.0.1:"+port+"/"); out != "hello" {
		t.Errorf("curl printed %q", out)
	}
}
