package ca

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	oidKeyUsage         = asn1.ObjectIdentifier{2, 5, 29, 15}
	oidSubjectAltName   = asn1.ObjectIdentifier{2, 5, 29, 17}
	oidBasicConstraints = asn1.ObjectIdentifier{2, 5, 29, 19}
)

func critical(cert *x509.Certificate, id asn1.ObjectIdentifier) bool {
	return slices.ContainsFunc(cert.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(id) && e.Critical })
}

func verify(t *testing.T, a *Authority, cert *x509.Certificate, host string) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(a.Certificate())
	if _, err := cert.Verify(x509.VerifyOptions{DNSName: host, Roots: roots}); err != nil {
		t.Errorf("a client refuses the leaf for %s: %v", host, err)
	}
}

func TestOwnCAContents(t *testing.T) {
	cert := open(t).Certificate()
	if !cert.IsCA || cert.MaxPathLen != 0 || !cert.MaxPathLenZero || !critical(cert, oidBasicConstraints) {
		t.Errorf("basicConstraints: CA %v, pathlen %d, critical %v", cert.IsCA, cert.MaxPathLen, critical(cert, oidBasicConstraints))
	}
	if cert.KeyUsage != x509.KeyUsageCertSign|x509.KeyUsageCRLSign || !critical(cert, oidKeyUsage) {
		t.Errorf("keyUsage %b, critical %v", cert.KeyUsage, critical(cert, oidKeyUsage))
	}
	if len(cert.SubjectKeyId) == 0 {
		t.Error("no subject key identifier")
	}
	if cert.SerialNumber.Sign() <= 0 || cert.SerialNumber.BitLen() < 64 {
		t.Errorf("serial number %x", cert.SerialNumber)
	}
	if !strings.HasPrefix(cert.Subject.CommonName, "heed interception CA ") || !slices.Equal(cert.Subject.Organization, []string{"heed"}) {
		t.Errorf("subject %s", cert.Subject)
	}
	if key, ok := cert.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		t.Errorf("key %T, want ECDSA P-256", cert.PublicKey)
	}
	if now := time.Now(); !cert.NotBefore.Before(now.Add(-time.Hour)) || cert.NotAfter.Before(now.AddDate(9, 11, 0)) || cert.NotAfter.After(now.AddDate(10, 0, 1)) {
		t.Errorf("valid from %s to %s", cert.NotBefore, cert.NotAfter)
	}
	if other := open(t).Certificate(); other.Subject.CommonName == cert.Subject.CommonName {
		t.Errorf("two CAs of the same name %q", cert.Subject.CommonName)
	}
}

func TestLeafContents(t *testing.T) {
	a := open(t)
	got, err := a.Leaf("example.com", "192.0.2.1", "2001:db8::1", "www.example.com", "example.com")
	if err != nil {
		t.Fatalf("Leaf: %v", err)
	}
	cert := got.Leaf
	if len(got.Certificate) != 2 || !bytes.Equal(got.Certificate[0], cert.Raw) || !bytes.Equal(got.Certificate[1], a.Certificate().Raw) {
		t.Errorf("chain of %d, want the leaf and the CA", len(got.Certificate))
	}
	if diff := cmp.Diff([]string{"example.com", "www.example.com"}, cert.DNSNames); diff != "" {
		t.Errorf("DNS names (-want +got):\n%s", diff)
	}
	if len(cert.IPAddresses) != 2 || !cert.IPAddresses[0].Equal(net.IPv4(192, 0, 2, 1)) || !cert.IPAddresses[1].Equal(net.ParseIP("2001:db8::1")) {
		t.Errorf("addresses %v", cert.IPAddresses)
	}
	if cert.Subject.CommonName != "example.com" {
		t.Errorf("common name %q", cert.Subject.CommonName)
	}
	if cert.IsCA || !cert.BasicConstraintsValid || !critical(cert, oidBasicConstraints) {
		t.Errorf("basicConstraints: CA %v, present %v, critical %v", cert.IsCA, cert.BasicConstraintsValid, critical(cert, oidBasicConstraints))
	}
	if cert.KeyUsage != x509.KeyUsageDigitalSignature || !slices.Equal(cert.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) {
		t.Errorf("keyUsage %b, extendedKeyUsage %v", cert.KeyUsage, cert.ExtKeyUsage)
	}
	if !bytes.Equal(cert.AuthorityKeyId, a.Certificate().SubjectKeyId) {
		t.Errorf("AKI %x, CA's SKI %x", cert.AuthorityKeyId, a.Certificate().SubjectKeyId)
	}
	if cert.SerialNumber.Sign() <= 0 || cert.SerialNumber.BitLen() < 64 {
		t.Errorf("serial number %x", cert.SerialNumber)
	}
	if life := cert.NotAfter.Sub(cert.NotBefore); life >= 90*24*time.Hour || !cert.NotBefore.Before(time.Now().Add(-time.Minute)) {
		t.Errorf("valid from %s to %s (%s)", cert.NotBefore, cert.NotAfter, life)
	}
	for _, host := range []string{"example.com", "www.example.com", "192.0.2.1", "2001:db8::1"} {
		verify(t, a, cert, host)
	}
	other := leaf(t, a, "example.org")
	if !other.PublicKey.(*ecdsa.PublicKey).Equal(cert.PublicKey) || other.SerialNumber.Cmp(cert.SerialNumber) == 0 {
		t.Error("leaves share the key, and never the serial number")
	}
	if again := open(t); leaf(t, again, "example.com").PublicKey.(*ecdsa.PublicKey).Equal(cert.PublicKey) {
		t.Error("two authorities share the leaf key")
	}
}

func TestNamesTooLongForACommonName(t *testing.T) {
	a := open(t)
	label := strings.Repeat("a", 50)
	long := label + "." + label + ".example"
	cert := leaf(t, a, long)
	if len(cert.Subject.Names) != 0 || !critical(cert, oidSubjectAltName) {
		t.Errorf("subject %q, subjectAltName critical %v; want an empty one and true", cert.Subject, critical(cert, oidSubjectAltName))
	}
	verify(t, a, cert, long)
	if short := leaf(t, a, "example.com"); critical(short, oidSubjectAltName) {
		t.Error("subjectAltName is critical although there is a subject")
	}
}

func TestImportedKeyIdentifierIsCopied(t *testing.T) {
	key := ecdsaKey(t)
	template := caTemplate()
	template.SubjectKeyId = []byte("not a hash of the key")
	a, err := Open(writeCA(t, selfSigned(t, template, key), pkcs8(t, key)))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	// The CA's own common name is no host name, but may be one.
	for _, name := range []string{"example.com", "imported"} {
		if got := leaf(t, a, name).AuthorityKeyId; !bytes.Equal(got, template.SubjectKeyId) {
			t.Errorf("AKI %q, want %q", got, template.SubjectKeyId)
		}
	}
}

func TestHostNamedAsTheCA(t *testing.T) {
	key := ecdsaKey(t)
	template := caTemplate()
	template.Subject.CommonName = "ca.example"
	a, err := Open(writeCA(t, selfSigned(t, template, key), pkcs8(t, key)))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	cert := leaf(t, a, "ca.example")
	if bytes.Equal(cert.RawSubject, cert.RawIssuer) || !bytes.Equal(cert.AuthorityKeyId, a.Certificate().SubjectKeyId) {
		t.Errorf("the leaf passes for self-issued: subject %s, AKI %x", cert.Subject, cert.AuthorityKeyId)
	}
	verify(t, a, cert, "ca.example")
}
