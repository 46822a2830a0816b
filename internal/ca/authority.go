package ca

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/singleflight"
)

// Authority is an opened CA: its certificate, its key, and the leaves minted so far. Make one with [Open], [Load] or
// [Init]; the zero value mints nothing. All methods may be called concurrently.
type Authority struct {
	dir     string
	cert    *x509.Certificate
	key     crypto.Signer
	leafKey *ecdsa.PrivateKey

	leaves *leafCache
	flight singleflight.Group
	issued atomic.Uint64
}

func newAuthority(dir string, cert *x509.Certificate, key crypto.Signer) (*Authority, error) {
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the leaf key: %w", err)
	}
	return &Authority{
		dir:     dir,
		cert:    cert,
		key:     key,
		leafKey: leafKey,
		leaves:  newLeafCache(maxLeaves),
	}, nil
}

// Dir is the folder the CA was read from.
func (a *Authority) Dir() string {
	return a.dir
}

// Path is the file of the CA certificate.
func (a *Authority) Path() string {
	return filepath.Join(a.dir, certFile)
}

// Certificate is the CA certificate. It is shared and must not be changed.
func (a *Authority) Certificate() *x509.Certificate {
	return a.cert
}

// PEM is the CA certificate alone, without the key, as one PEM block. The caller owns the result.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: a.cert.Raw})
}

// Fingerprint is the SHA-256 of the CA certificate as `openssl x509 -fingerprint -sha256` prints it: upper-case
// hexadecimal octets, separated by colons.
func (a *Authority) Fingerprint() string {
	return fingerprint(a.cert)
}

// SPKIHash is the base64 of the SHA-256 of the CA's SubjectPublicKeyInfo (the form of RFC 7469 2.4), the value for
// Chromium's --ignore-certificate-errors-spki-list. That flag accepts a chain when any certificate the server sends
// has a listed key; since a chain from [Authority.Leaf] holds the CA certificate too, this one hash covers every leaf.
// Chromium heeds the flag only together with --user-data-dir.
func (a *Authority) SPKIHash() string {
	sum := sha256.Sum256(a.cert.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Issued is how many leaves have been minted. A leaf from the cache is not counted again.
func (a *Authority) Issued() uint64 {
	return a.issued.Load()
}

// Cached is how many leaves are kept. It has a bound, whatever names clients think of.
func (a *Authority) Cached() int {
	return a.leaves.leaves.ItemCount()
}

func fingerprint(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum), " ", ":")
}
