package ca

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"time"
)

const (
	// leafLife is the whole validity of a leaf, back-dating included. Browsers refuse leaves that live long, and lower
	// the limit from time to time; this is below the 100 days that public CAs are held to from March 2027.
	leafLife = 90 * 24 * time.Hour

	// maxCommonName is ub-common-name of RFC 5280 appendix A.1.
	maxCommonName = 64
)

// Leaf is a certificate for the given host names and IP addresses, which belong to one leaf together, with its key
// and the CA certificate behind it. It comes from the cache while less than two thirds of the life it was minted with
// have gone. Names are lower-cased and lose one trailing dot; wildcards and anything else that is no host name or
// address are errors, and so is a CA that has expired meanwhile. The result is shared and must not be changed.
func (a *Authority) Leaf(names ...string) (*tls.Certificate, error) {
	s, err := parseSubject(names)
	if err != nil {
		return nil, err
	}
	key := s.key()
	if leaf := a.leaves.get(key); leaf != nil {
		return leaf, nil
	}
	leaf, err, _ := a.flight.Do(key, func() (any, error) {
		// The last flight may have landed between the look above and this one.
		if leaf := a.leaves.get(key); leaf != nil {
			return leaf, nil
		}
		return a.mint(s)
	})
	if err != nil {
		return nil, fmt.Errorf("mint a certificate for %s: %w", key, err)
	}
	return leaf.(*tls.Certificate), nil
}

func (a *Authority) mint(s subject) (*tls.Certificate, error) {
	now := time.Now()
	template, err := a.template(s, now)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.leafKey.Public(), a.key)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	leaf := &tls.Certificate{
		Certificate: [][]byte{der, a.cert.Raw},
		PrivateKey:  a.leafKey,
		Leaf:        parsed,
	}
	a.issued.Add(1)
	a.leaves.put(s.key(), leaf, parsed.NotAfter.Sub(now)/3*2)
	return leaf, nil
}

func (a *Authority) template(s subject, now time.Time) (*x509.Certificate, error) {
	notBefore := now.Add(-backdate)
	// Both ends belong to the validity (RFC 5280 4.1.2.5), hence the second.
	notAfter := notBefore.Add(leafLife - time.Second)
	if notBefore.Before(a.cert.NotBefore) {
		notBefore = a.cert.NotBefore
	}
	if notAfter.After(a.cert.NotAfter) {
		notAfter = a.cert.NotAfter
	}
	if !now.Before(notAfter) {
		return nil, errors.New("the CA has expired: make a new one with heed ca init --force")
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		NotBefore:    notBefore,
		NotAfter:     notAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		// CA:FALSE, said aloud.
		BasicConstraintsValid: true,
		DNSNames:              s.dns,
		IPAddresses:           s.ips,
	}
	// CreateCertificate copies the CA's subject key identifier to the leaf's authority key identifier, unless leaf and
	// CA have the same name: then it takes the leaf for self-issued. It marks the subject alternative name critical
	// when the subject is empty, as RFC 5280 4.2.1.6 demands.
	if name := s.names[0]; len(name) <= maxCommonName && name != a.cert.Subject.CommonName {
		template.Subject = pkix.Name{CommonName: name}
	}
	return template, nil
}
