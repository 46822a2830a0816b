package ca

import (
	"bytes"
	"encoding/pem"
	"os"
	"strings"
)

// systemRootFiles is where systems keep their roots as one PEM file; the first that can be used is taken.
var systemRootFiles = []string{
	"/etc/ssl/certs/ca-certificates.crt",                // Debian, Ubuntu, Arch, Gentoo, NixOS
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // Fedora, RHEL, CentOS
	"/etc/pki/tls/certs/ca-bundle.crt",                  // Fedora, RHEL before 7
	"/etc/ssl/ca-bundle.pem",                            // openSUSE, SLES
	"/var/lib/ca-certificates/ca-bundle.pem",            // openSUSE without the compatibility link
	"/etc/ssl/cert.pem",                                 // Alpine, macOS, OpenBSD
	"/usr/local/etc/ssl/cert.pem",                       // FreeBSD
	"/usr/local/share/certs/ca-root-nss.crt",            // FreeBSD, DragonFly
	"/etc/openssl/certs/ca-certificates.crt",            // NetBSD
	"/opt/homebrew/etc/ca-certificates/cert.pem",        // Homebrew
}

// Bundle is the system's roots followed by own, the certificate of a CA in PEM, for programs whose settings replace
// their whole trust store. The roots come from the file that getenv names as SSL_CERT_FILE, else from where this
// system keeps them; nothing but certificates is copied. Without roots the result would cut a program off from every
// host that is not intercepted, so it is an error ([*StateError]). The caller owns the result.
func Bundle(own []byte, getenv func(string) string) ([]byte, error) {
	roots, err := systemRoots(getenv("SSL_CERT_FILE"), systemRootFiles)
	if err != nil {
		return nil, err
	}
	// SSL_CERT_FILE may itself name such a bundle.
	if bytes.Contains(roots, own) {
		return roots, nil
	}
	return append(roots, own...), nil
}

// Bundle is [Bundle] for the Authority's own certificate.
func (a *Authority) Bundle(getenv func(string) string) ([]byte, error) {
	return Bundle(a.PEM(), getenv)
}

// systemRoots reads the named file, or, when none is named, the first candidate that holds a certificate.
func systemRoots(named string, candidates []string) ([]byte, error) {
	const hint = "install the ca-certificates package, or set SSL_CERT_FILE to a PEM file of root certificates"
	if named != "" {
		data, err := os.ReadFile(named)
		if err != nil {
			return nil, unreadable(named, err)
		}
		if roots := certificates(data); len(roots) > 0 {
			return roots, nil
		}
		return nil, &StateError{Path: named, Problem: "is named by SSL_CERT_FILE and holds no PEM certificate", Hint: hint}
	}
	for _, path := range candidates {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if roots := certificates(data); len(roots) > 0 {
			return roots, nil
		}
	}
	return nil, &StateError{
		Path:    "system roots",
		Problem: "no PEM bundle found at " + strings.Join(candidates, ", "),
		Hint:    hint,
	}
}

// certificates is every certificate of a PEM file, without the text between them.
func certificates(data []byte) []byte {
	var out []byte
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == pemCertificate {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: block.Bytes})...)
		}
	}
	return out
}
