package ca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

const (
	caYears = 10

	// backdate is how far before now a new certificate begins, for clients whose clock is slow.
	backdate = 24 * time.Hour

	serialBits = 128
)

// generate makes a new CA and returns its certificate and its PKCS#8 key, both as PEM.
func generate(now time.Time) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make the CA key: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, nil, err
	}
	// The name differs from CA to CA: clients look issuers up by name, and one that still trusts an earlier CA of
	// the same name would try the wrong key.
	name := fmt.Sprintf("heed interception CA %08x", new(big.Int).Rsh(serial, serialBits-32))
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{Organization: []string{"heed"}, CommonName: name},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.AddDate(caYears, 0, 0),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	// CreateCertificate adds the subject key identifier of a CA by itself.
	certDER, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("make the CA certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the CA key: %w", err)
	}
	certPEM = pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: certDER})
	keyPEM = pem.EncodeToMemory(&pem.Block{Type: pemPrivateKey, Bytes: keyDER})
	return certPEM, keyPEM, nil
}

// newSerial is a random number of 1 to 2^128: positive, not guessable, within RFC 5280's 20 octets.
func newSerial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	return n.Add(n, big.NewInt(1)), nil
}
