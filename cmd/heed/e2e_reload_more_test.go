package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heed/internal/ca"
)

// What may be dialled changes for the next request: neither a connection that is
// kept nor a refusal that is remembered outlives the rules it came from.
func TestReloadOfEgress(t *testing.T) {
	origin := newSite(t, false, false, "")
	p := newProcess(t, []*site{origin})
	p.writeConfig("log: {level: info}\n")
	p.start()
	c := p.client(false)
	for n, tc := range []struct {
		file   string
		status int
	}{
		{"log: {level: info}\n", 200}, {"egress: {deny: [127.0.0.1]}\n", 403}, {"log: {level: info}\n", 200}, {"egress: {deny: [127.0.0.1/32]}\n", 403},
	} {
		p.writeConfig(tc.file)
		p.hangup()
		eventually(t, "the reload", func() bool { return strings.Count(p.log(), `msg="configuration is reloaded" cause=SIGHUP`) == n+1 })
		for range 2 {
			if a, err := fetchURL(c, origin.URL+"/x"); err != nil || a.status != tc.status {
				t.Errorf("%s: %d %v %s", tc.file, a.status, err, a.body)
			}
		}
	}
}

// Users and settings for clients change with a reload, and heed goes on to be closed
// to everybody else.
func TestReloadOfUsers(t *testing.T) {
	origin := newSite(t, false, false, "User-agent: strict\nDisallow: /\n")
	p := newProcess(t, []*site{origin})
	// By htpasswd -nbB: me, secret.
	users := "me:$2y$05$1ZOVNMtALEjdBhPDkJZ3iOqCeNU/xKcUpTzLUaDkSdxYdzPzqP2Xm\n"
	if err := os.WriteFile(filepath.Join(p.dir, "users"), []byte(users), 0o600); err != nil {
		t.Fatal(err)
	}
	p.writeConfig("log: {level: info}\n")
	p.start()
	c := p.client(false)
	for n, tc := range []struct {
		file   string
		status int
	}{
		{"clients: [{networks: [127.0.0.1], tokens: [strict]}]\n", 403}, {"auth: {users_file: users}\n", 407}, {"auth: {users_file: no-such-file}\n", 407}, {"mode: enforce\n", 200},
	} {
		p.writeConfig(tc.file)
		p.hangup()
		eventually(t, "the reload", func() bool {
			return strings.Count(p.log(), `msg="configuration is reloaded" cause=SIGHUP`)+strings.Count(p.log(), `stays in force" cause=SIGHUP`) == n+1
		})
		if a, err := fetchURL(c, origin.URL+"/x"); err != nil || a.status != tc.status {
			t.Errorf("%s: %d %v %s", tc.file, a.status, err, a.body)
		}
	}
}

// A certificate of the proxy port that was renewed is shown from the next reload on.
func TestReloadRenewsTheCertificate(t *testing.T) {
	p := newProcess(t, nil)
	authority, err := ca.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	renew := func(name string) {
		t.Helper()
		leaf, err := authority.Leaf("127.0.0.1", name)
		if err != nil {
			t.Fatal(err)
		}
		key, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		for file, block := range map[string]*pem.Block{
			"cert.pem": {Type: "CERTIFICATE", Bytes: leaf.Certificate[0]}, "key.pem": {Type: "PRIVATE KEY", Bytes: key},
		} {
			if err := os.WriteFile(filepath.Join(p.dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	shown := func() string {
		t.Helper()
		c, err := net.Dial("tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
		if err := s.Handshake(); err != nil {
			t.Fatal(err)
		}
		return s.ConnectionState().PeerCertificates[0].DNSNames[0]
	}
	renew("one.example")
	p.writeConfig("tls: {cert: cert.pem, key: key.pem}\n")
	p.start()
	if got := shown(); got != "one.example" {
		t.Errorf("certificate for %s", got)
	}
	renew("two.example")
	p.hangup()
	eventually(t, "the certificate is another", func() bool { return shown() == "two.example" })
	if err := os.WriteFile(filepath.Join(p.dir, "cert.pem"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.hangup()
	eventually(t, "the fault is counted", func() bool { return p.metric("heed_config_reload_failures_total") == 1 })
	if got := shown(); got != "two.example" {
		t.Errorf("certificate for %s", got)
	}
}
