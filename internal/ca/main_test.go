package ca

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// openEnv makes the test binary a process that opens the CA in the named folder, prints its fingerprint and ends.
const openEnv = "CA_TEST_OPEN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(openEnv); dir != "" {
		a, err := Open(dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(a.Fingerprint())
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// open is the CA of a folder of its own, made by heed.
func open(t *testing.T) *Authority {
	t.Helper()
	a, err := Open(filepath.Join(t.TempDir(), "ca"))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return a
}

func leaf(t *testing.T, a *Authority, names ...string) *x509.Certificate {
	t.Helper()
	c, err := a.Leaf(names...)
	if err != nil {
		t.Fatalf("Leaf(%q): %v", names, err)
	}
	return c.Leaf
}

// caTemplate is a CA such as a user might import; tests bend it.
func caTemplate() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          big.NewInt(4711),
		Subject:               pkix.Name{CommonName: "Imported CA"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(1, 0, 0),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
}

func ecdsaKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// selfSigned is template signed by key, as PEM.
func selfSigned(t *testing.T, template *x509.Certificate, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return encode(pemCertificate, der)
}

func pkcs8(t *testing.T, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return encode(pemPrivateKey, der)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// writeCA puts a pair into a new folder; nil leaves a file out.
func writeCA(t *testing.T, certPEM, keyPEM []byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if certPEM != nil {
		write(t, filepath.Join(dir, certFile), certPEM, 0o644)
	}
	if keyPEM != nil {
		write(t, filepath.Join(dir, keyFile), keyPEM, 0o600)
	}
	return dir
}

func write(t *testing.T, path string, data []byte, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, data, mode); err != nil {
		t.Fatal(err)
	}
}

// files is the contents of every file in dir but the lock.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, entry := range entries {
		if entry.Name() == lockFile {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[entry.Name()] = string(data)
	}
	return found
}
