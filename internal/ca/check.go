package ca

import (
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"slices"
	"time"
)

const (
	// goproxyFingerprint is the certificate built into github.com/elazarl/goproxy. Its private key is in that
	// repository: whoever trusts it trusts everybody.
	goproxyFingerprint = "4C:A2:F5:7B:4A:99:58:BF:77:43:C9:23:4A:A1:2E:80:EF:AF:7D:CD:83:51:AD:62:48:74:66:6B:70:0E:F4:F6"

	// minRSABits is the least that today's TLS clients accept.
	minRSABits = 2048

	newCAHint = "import another CA, or make a new one with: heed ca init --force"
)

// check says why cert cannot sign leaves that clients would accept. The result is nil when it can.
func check(path string, cert *x509.Certificate, now time.Time) error {
	problem := func(hint, format string, args ...any) error {
		return &StateError{Path: path, Problem: fmt.Sprintf(format, args...), Hint: hint}
	}
	switch {
	case fingerprint(cert) == goproxyFingerprint:
		return problem(newCAHint, "is the CA built into goproxy, whose private key is public")
	case !cert.BasicConstraintsValid || !cert.IsCA:
		return problem(newCAHint, "is no CA certificate (basicConstraints lacks CA:TRUE)")
	case cert.KeyUsage != 0 && cert.KeyUsage&x509.KeyUsageCertSign == 0:
		return problem(newCAHint, "may not sign certificates (keyUsage lacks keyCertSign)")
	case !mayIssueServers(cert):
		return problem(newCAHint, "may not issue server certificates (extendedKeyUsage lacks serverAuth)")
	case len(cert.Subject.Names) == 0:
		return problem(newCAHint, "has an empty subject, which no leaf can name as its issuer")
	case now.After(cert.NotAfter):
		return problem(newCAHint, "expired on %s", cert.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(cert.NotBefore):
		return problem("check this machine's clock", "is not valid before %s", cert.NotBefore.UTC().Format(time.RFC3339))
	}
	if public, ok := cert.PublicKey.(*rsa.PublicKey); ok && public.N.BitLen() < minRSABits {
		return problem(newCAHint, "has an RSA key of %d bits; clients want at least %d", public.N.BitLen(), minRSABits)
	}
	return nil
}

// mayIssueServers reads a CA's extended key usage as clients do: absent means any.
func mayIssueServers(cert *x509.Certificate) bool {
	if len(cert.ExtKeyUsage) == 0 && len(cert.UnknownExtKeyUsage) == 0 {
		return true
	}
	return slices.Contains(cert.ExtKeyUsage, x509.ExtKeyUsageServerAuth) ||
		slices.Contains(cert.ExtKeyUsage, x509.ExtKeyUsageAny)
}
