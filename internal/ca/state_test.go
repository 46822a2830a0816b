package ca

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestUnusableStates(t *testing.T) {
	key := ecdsaKey(t)
	good, goodKey := selfSigned(t, caTemplate(), key), pkcs8(t, key)
	bent := func(bend func(*x509.Certificate)) []byte {
		template := caTemplate()
		bend(template)
		return selfSigned(t, template, key)
	}
	public, err := os.ReadFile("testdata/goproxy-ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cert, key  []byte
		file, want string
	}{
		"certificate alone":       {good, nil, keyFile, "missing"},
		"key alone":               {nil, goodKey, certFile, "missing"},
		"empty certificate":       {[]byte{}, goodKey, certFile, "no PEM certificate"},
		"broken certificate":      {encode(pemCertificate, []byte("x")), goodKey, certFile, "no readable certificate"},
		"two certificates":        {append(good[:len(good):len(good)], good...), goodKey, certFile, "more than one"},
		"key in the certificate":  {append(good[:len(good):len(good)], goodKey...), goodKey, certFile, "alone"},
		"empty key":               {good, []byte{}, keyFile, "no PEM private key"},
		"broken key":              {good, encode(pemPrivateKey, []byte("x")), keyFile, "no readable private key"},
		"encrypted key":           {good, encode("ENCRYPTED PRIVATE KEY", []byte("x")), keyFile, "passphrase"},
		"key of an unknown kind":  {good, encode("DSA PRIVATE KEY", []byte("x")), keyFile, "DSA"},
		"key of another CA":       {good, pkcs8(t, ecdsaKey(t)), keyFile, "not the key"},
		"goproxy's built-in CA":   {public, goodKey, certFile, "private key is public"},
		"no CA":                   {bent(func(c *x509.Certificate) { c.IsCA = false }), goodKey, certFile, "no CA certificate"},
		"no keyCertSign":          {bent(func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageCRLSign }), goodKey, certFile, "keyCertSign"},
		"for other purposes":      {bent(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning} }), goodKey, certFile, "serverAuth"},
		"empty subject":           {bent(func(c *x509.Certificate) { c.Subject = pkix.Name{} }), goodKey, certFile, "empty subject"},
		"expired":                 {bent(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), goodKey, certFile, "expired"},
		"not yet valid":           {bent(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }), goodKey, certFile, "not valid before"},
		"a short RSA key":         {selfSigned(t, caTemplate(), rsaKey(t, 1024)), goodKey, certFile, "1024 bits"},
		"key of another key type": {good, pkcs8(t, rsaKey(t, 2048)), keyFile, "not the key"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeCA(t, c.cert, c.key)
			before := files(t, dir)
			for _, open := range []func(string) (*Authority, error){Open, Load} {
				_, err := open(dir)
				requireState(t, err, filepath.Join(dir, c.file), c.want)
			}
			if diff := cmp.Diff(before, files(t, dir)); diff != "" {
				t.Errorf("files changed (-before +after):\n%s", diff)
			}
		})
	}
}

// requireState checks for a fault in a CA that is there, hence nothing that a caller would take for an absent one.
func requireState(t *testing.T, err error, path, want string) {
	t.Helper()
	var state *StateError
	if !errors.As(err, &state) {
		t.Fatalf("got %v, want a *StateError about %q", err, want)
	}
	if state.Path != path || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s and %q", err, path, want)
	}
	if state.Hint == "" {
		t.Errorf("no hint with %v", err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v passes for an absent CA", err)
	}
}

func TestKeyOpenToOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no mode bits")
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o644} {
		a := open(t)
		path := filepath.Join(a.Dir(), keyFile)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := Open(a.Dir())
		requireState(t, err, path, "open to other users")
		var state *StateError
		if errors.As(err, &state) && state.Hint != "chmod 600 "+path {
			t.Errorf("mode %04o: hint %q", mode, state.Hint)
		}
	}
}

// As Kubernetes gives a volume to a pod's fsGroup.
func TestKeyOfAFolderGivenToAGroup(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no mode bits")
	}
	for mode, allowed := range map[fs.FileMode]bool{0o660: true, 0o440: true, 0o664: false, 0o662: false, 0o661: false} {
		a := open(t)
		path := filepath.Join(a.Dir(), keyFile)
		if err := errors.Join(os.Chmod(a.Dir(), fs.ModeSetgid|0o770), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		got, err := Open(a.Dir())
		if !allowed {
			requireState(t, err, path, "open to other users")
			continue
		}
		if err != nil {
			t.Errorf("mode %04o: %v", mode, err)
		} else if got.Fingerprint() != a.Fingerprint() {
			t.Errorf("mode %04o: another CA", mode)
		}
	}
}

func TestDanglingLinksAreNotReplaced(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{certFile, keyFile} {
		if err := os.Symlink(filepath.Join(dir, "not-mounted"), filepath.Join(dir, name)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	if _, err := Open(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open: %v, want an error that is not fs.ErrNotExist", err)
	}
	if target, err := os.Readlink(filepath.Join(dir, certFile)); err != nil || target != filepath.Join(dir, "not-mounted") {
		t.Errorf("the link is gone: %q, %v", target, err)
	}
}

func TestImportedKeys(t *testing.T) {
	rsa2048, ec := rsaKey(t, 2048), ecdsaKey(t)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecDER, err := x509.MarshalECPrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	parameters := encode("EC PARAMETERS", []byte{0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07})
	for name, c := range map[string]struct {
		key crypto.Signer
		pem []byte
	}{
		"RSA as PKCS#1":                {rsa2048, encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsa2048))},
		"RSA as PKCS#8":                {rsa2048, pkcs8(t, rsa2048)},
		"ECDSA as SEC 1":               {ec, encode("EC PRIVATE KEY", ecDER)},
		"ECDSA behind its parameters":  {ec, append(parameters, encode("EC PRIVATE KEY", ecDER)...)},
		"ECDSA as PKCS#8":              {ec, pkcs8(t, ec)},
		"Ed25519 as PKCS#8":            {ed, pkcs8(t, ed)},
		"text around, as openssl does": {ec, append([]byte("Bag Attributes\n"), pkcs8(t, ec)...)},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := Open(writeCA(t, selfSigned(t, caTemplate(), c.key), c.pem))
			if err != nil {
				t.Fatalf("Open: %v", err)
			}
			verify(t, a, leaf(t, a, "example.com"), "example.com")
		})
	}
}

func rsaKey(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
