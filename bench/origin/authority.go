package origin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Issuer is the common name of who signs the origin's certificates.
const Issuer = "origin CA of the benchmark"

// authority signs certificates. All have one key.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template(name)
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{cert, key}, err
}

func template(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(30 * 24 * time.Hour),
	}
}

// leaf is a certificate for some addresses.
func (a *authority) leaf(ips ...net.IP) (*tls.Certificate, error) {
	t := template(ips[0].String())
	t.IPAddresses, t.KeyUsage = ips, x509.KeyUsageDigitalSignature
	for _, ip := range ips {
		t.DNSNames = append(t.DNSNames, ip.String()) // where squid looks for addresses
	}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, a.key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}, nil
}

// SigningCA makes a CA for a peer that has to be given one, and writes its
// certificate with its key to one file.
func SigningCA(file string) error {
	a, err := newAuthority("interception CA of the benchmark")
	if err != nil {
		return err
	}
	return writePEM(file, a.key, a.cert.Raw)
}

// writePEM writes certificates, and their key unless it is nil.
func writePEM(file string, key *ecdsa.PrivateKey, certs ...[]byte) error {
	var text []byte
	for _, der := range certs {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	if key != nil {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return err
		}
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})...)
	}
	// Readable by all: peers give up root before they read it, and it is worth nothing.
	return os.WriteFile(filepath.Clean(file), text, 0o644)
}
