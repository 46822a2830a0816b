package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heed/internal/ca"
	"heed/internal/testtool"
)

// An https:// proxy URL, as curl has it.
func TestProxyOverTLSForCurl(t *testing.T) {
	curl := testtool.Path(t, "curl")
	plain, secure := newSite(t, false, false, testRobots), newSite(t, true, true, testRobots)
	cert, key, root := certFiles(t)
	p := startProcess(t, []*site{plain, secure}, "HEED_TLS_CERT="+cert, "HEED_TLS_KEY="+key)
	for _, s := range []*site{plain, secure} {
		for path, want := range map[string]string{"/x": "200", "/private/x": "403"} {
			out, err := exec.Command(curl, "-sS", "-o", os.DevNull, "-w", "%{http_code}", "--max-time", "20", "--noproxy", "",
				"-x", "https://"+p.addr, "--proxy-cacert", root, "--cacert", p.ca, s.URL+path).CombinedOutput()
			if err != nil || string(out) != want {
				t.Errorf("%s%s: %s %v, want %s\n%s", s.URL, path, out, err, want, p.log())
			}
		}
	}
}

// Whoever asks heed for heed is told that this is a loop: the proxy's port and the
// admin listener, for a page and for robots.txt, in the open and in a tunnel.
func TestHeedIsNotReachedThroughHeed(t *testing.T) {
	p := startProcess(t, nil)
	c := p.client(false)
	for _, url := range []string{"http://" + p.addr + "/", "http://" + p.addr + "/robots.txt", "http://" + p.admin + "/metrics", "https://" + p.addr + "/",
		"https://" + p.admin + "/"} {
		a, err := fetchURL(c, url)
		if err != nil || a.status != 502 || !strings.Contains(a.header, "Proxy-Status: heed; error=proxy_loop_detected;") {
			t.Errorf("%s: %+v %v", url, a, err)
		}
	}
	for _, r := range p.records() {
		if r["verdict"] != "error" || r["reason"] != "upstream" || r["status"] != 502.0 {
			t.Errorf("record %v", r)
		}
	}
}

// certFiles makes a certificate for 127.0.0.1 and returns the files of it, of its
// key and of the root that vouches for it.
func certFiles(t *testing.T) (cert, key, root string) {
	t.Helper()
	dir := t.TempDir()
	authority, err := ca.Open(filepath.Join(dir, "ca"))
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := authority.Leaf("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	var chain bytes.Buffer
	for _, der := range leaf.Certificate {
		_ = pem.Encode(&chain, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	der, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, data := range map[string][]byte{cert: chain.Bytes(), key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, authority.Path()
}
