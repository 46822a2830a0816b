package ca

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

const (
	pemCertificate = "CERTIFICATE"
	pemPrivateKey  = "PRIVATE KEY" // PKCS#8
)

// parseCertificate reads the one certificate of a ca.pem. Anything beside it is refused: the file is made to be
// handed out, so a key in it would leak, and of two certificates it is not said which one is the CA.
func parseCertificate(data []byte) (*x509.Certificate, error) {
	var found *pem.Block
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != pemCertificate {
			return nil, fmt.Errorf("holds a PEM block %q, and may hold the CA certificate alone", block.Type)
		}
		if found != nil {
			return nil, errors.New("holds more than one certificate, and may hold the CA certificate alone")
		}
		found = block
	}
	if found == nil {
		return nil, errors.New("holds no PEM certificate")
	}
	cert, err := x509.ParseCertificate(found.Bytes)
	if err != nil {
		return nil, fmt.Errorf("is no readable certificate: %v", err)
	}
	return cert, nil
}

// parseKey reads the first private key of a ca-key.pem: PKCS#8, SEC 1 (EC) or PKCS#1 (RSA). Other blocks are passed
// over, since openssl writes EC PARAMETERS before an EC key.
func parseKey(data []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if !strings.HasSuffix(block.Type, pemPrivateKey) {
			continue
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" {
			return nil, errors.New("is encrypted with a passphrase, which heed cannot ask for")
		}
		return parseKeyBlock(block)
	}
	return nil, errors.New("holds no PEM private key")
}

func parseKeyBlock(block *pem.Block) (crypto.Signer, error) {
	var key any
	var err error
	switch block.Type {
	case pemPrivateKey:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		return nil, fmt.Errorf("holds a PEM block %q, which is no RSA, ECDSA or Ed25519 key", block.Type)
	}
	if err != nil {
		// The parser's errors quote no key material.
		return nil, fmt.Errorf("is no readable private key: %v", err)
	}
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return key, nil
	case *ecdsa.PrivateKey:
		return key, nil
	case ed25519.PrivateKey:
		return key, nil
	}
	return nil, errors.New("holds a key that is neither RSA, ECDSA nor Ed25519")
}

// matches reports whether key is the private half of the key in cert.
func matches(cert *x509.Certificate, key crypto.Signer) bool {
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(cert.PublicKey)
}
