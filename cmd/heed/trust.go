package main

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"software.sslmate.com/src/go-pkcs12"

	"heed/internal/ca"
)

// trustFiles are what programs need to trust the interception CA. A variable
// that replaces a program's roots gets the bundle, one that adds to them the CA.
// The zero value is for a heed that intercepts nothing.
type trustFiles struct {
	dir    string
	ca     string // heed's CA alone, PEM
	bundle string // the system's roots and heed's CA, PEM
	store  string // the same as a PKCS #12 trust store, for Java
}

// storePassword is what every Java tool expects. The store holds nothing secret.
const storePassword = pkcs12.DefaultPassword

// writeTrust writes the files for a CA, given in PEM, into dir. Where the
// system's roots cannot be found the bundle holds the CA alone, and warning,
// which is to be shown, says so: what heed intercepts verifies all the same.
func writeTrust(dir string, own []byte, getenv func(string) string) (f trustFiles, warning, err error) {
	f = trustFiles{dir, filepath.Join(dir, "heed-ca.pem"), filepath.Join(dir, "bundle.pem"), filepath.Join(dir, "trust.p12")}
	bundle, warning := ca.Bundle(own, getenv)
	if warning != nil {
		bundle = own
	}
	store, err := javaStore(bundle)
	if err != nil {
		return f, warning, fmt.Errorf("trust store for Java: %w", err)
	}
	for name, data := range map[string][]byte{f.ca: own, f.bundle: bundle, f.store: store} {
		if err := os.WriteFile(name, data, 0o644); err != nil { // certificates are public
			return f, warning, err
		}
	}
	return f, warning, nil
}

// javaStore turns PEM certificates into a trust store. What Go cannot parse,
// as some old roots, is left out.
func javaStore(bundle []byte) ([]byte, error) {
	var certs []*x509.Certificate
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			certs = append(certs, cert)
		}
	}
	return pkcs12.Modern.EncodeTrustStore(certs, storePassword)
}

// writeSettings writes settings files for the programs whose variables are not
// enough, and returns the variables that name those files. A user's own settings
// stay, but for those that would lead the program around the proxy: in both
// programs the last line counts.
func writeSettings(f trustFiles, proxy string, getenv func(string) string) ([]variable, error) {
	wget := "use_proxy = on\nno_proxy =\nhttp_proxy = " + proxy + "\nhttps_proxy = " + proxy + "\nftp_proxy = " + proxy + "\n"
	if f.bundle != "" {
		wget += "ca_certificate = " + f.bundle + "\n" // which no variable can say
	}
	home := getenv("HOME")
	vars := []variable{{"WGETRC", filepath.Join(f.dir, "wgetrc")}}
	text := settingsOf(f.dir, getenv("WGETRC"), filepath.Join(home, ".wgetrc"))
	if err := os.WriteFile(vars[0].value, []byte(text+"\n"+wget), 0o600); err != nil {
		return nil, err
	}
	text = settingsOf(f.dir, filepath.Join(getenv("CURL_HOME"), ".curlrc"), filepath.Join(getenv("XDG_CONFIG_HOME"), "curlrc"),
		filepath.Join(home, ".curlrc"), filepath.Join(home, ".config", "curlrc"))
	if text == "" {
		return vars, nil // curl obeys its variables
	}
	curl := fmt.Sprintf("%s\nproxy = %q\nnoproxy = \"\"\n", text, proxy)
	return append(vars, variable{"CURL_HOME", f.dir}), os.WriteFile(filepath.Join(f.dir, ".curlrc"), []byte(curl), 0o600)
}

// settingsOf returns the first of the files that is there, "" when none is. Those
// in dir are heed's own, of an environment that has been set already.
func settingsOf(dir string, files ...string) string {
	for _, name := range files {
		if !filepath.IsAbs(name) || filepath.Dir(name) == dir {
			continue
		}
		if text, err := os.ReadFile(name); err == nil {
			return strings.TrimRight(string(text), "\n")
		}
	}
	return ""
}
