package main

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"software.sslmate.com/src/go-pkcs12"

	"heed/internal/ca"
)

// trustFiles are what programs need to trust the interception CA. A variable
// that replaces a program's roots gets the bundle, one that adds to them the CA.
type trustFiles struct {
	ca     string // heed's CA alone, PEM
	bundle string // the system's roots and heed's CA, PEM
	store  string // the same as a PKCS #12 trust store, for Java
	wgetrc string // wget's settings: the user's, and then these
}

// storePassword is what every Java tool expects. The store holds nothing secret.
const storePassword = pkcs12.DefaultPassword

// writeTrust writes the files into dir. Where the system's roots cannot be
// found the bundle holds the CA alone, and the error, which is to be shown as a
// warning, says so: what heed intercepts verifies all the same.
func writeTrust(dir string, a *ca.Authority, getenv func(string) string) (f trustFiles, warning, err error) {
	f = trustFiles{filepath.Join(dir, "heed-ca.pem"), filepath.Join(dir, "bundle.pem"), filepath.Join(dir, "trust.p12"), filepath.Join(dir, "wgetrc")}
	bundle, warning := a.Bundle(getenv)
	if warning != nil {
		bundle = a.PEM()
	}
	store, err := javaStore(bundle)
	if err != nil {
		return f, warning, fmt.Errorf("trust store for Java: %w", err)
	}
	files := map[string][]byte{f.ca: a.PEM(), f.bundle: bundle, f.store: store, f.wgetrc: wgetrc(f.bundle, getenv)}
	for name, data := range files {
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

// wgetrc returns the user's own settings of wget, which reads no variable that
// names roots, and in their place those that would lead it around the proxy.
func wgetrc(bundle string, getenv func(string) string) []byte {
	own := getenv("WGETRC")
	if own == "" {
		own = filepath.Join(getenv("HOME"), ".wgetrc")
	}
	text, _ := os.ReadFile(own) // most users have none
	return append(text, "\nca_certificate = "+bundle+"\nuse_proxy = on\nno_proxy =\n"...)
}

// variable is one setting of an environment.
type variable struct{ name, value string }

// clientEnv returns the variables that lead programs through the proxy at addr
// and, unless f is zero, make them trust f. javaOptions is what
// JAVA_TOOL_OPTIONS holds already.
func clientEnv(addr string, f trustFiles, javaOptions string) []variable {
	proxy := "http://" + addr
	var vars []variable
	set := func(value string, names ...string) {
		for _, n := range names {
			vars = append(vars, variable{n, value})
		}
	}
	set(proxy, "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy", "WS_PROXY", "WSS_PROXY", "grpc_proxy",
		"GLOBAL_AGENT_HTTP_PROXY", "npm_config_proxy", "npm_config_https_proxy")
	// A list taken over from the user's shell would be a hole.
	set("", "NO_PROXY", "no_proxy", "npm_config_noproxy", "GLOBAL_AGENT_NO_PROXY")
	set("1", "NODE_USE_ENV_PROXY")
	if f != (trustFiles{}) {
		set(f.bundle, "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
			"CARGO_HTTP_CAINFO", "PERL_LWP_SSL_CA_FILE", "HTTPLIB2_CA_CERTS", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "npm_config_cafile")
		set(f.ca, "NODE_EXTRA_CA_CERTS", "DENO_CERT")
		set(f.wgetrc, "WGETRC")
	}
	set(javaToolOptions(addr, f.store, javaOptions), "JAVA_TOOL_OPTIONS")
	set("1", "HEED_ACTIVE")
	set(proxy, "HEED_PROXY")
	return vars
}

// javaToolOptions appends to what is there; of a property given twice, the last
// one counts.
func javaToolOptions(addr, store, present string) string {
	host, port, _ := net.SplitHostPort(addr)
	options := []string{
		present, "-Dhttp.proxyHost=" + host, "-Dhttp.proxyPort=" + port, "-Dhttps.proxyHost=" + host, "-Dhttps.proxyPort=" + port,
		"-Dhttp.nonProxyHosts=", // the default leaves loopback out
	}
	if store != "" {
		options = append(options, "-Djavax.net.ssl.trustStore="+store, "-Djavax.net.ssl.trustStoreType=PKCS12",
			"-Djavax.net.ssl.trustStorePassword="+storePassword)
	}
	return strings.TrimSpace(strings.Join(options, " "))
}

// withEnv returns environ with the variables set.
func withEnv(environ []string, vars []variable) []string {
	ours := make(map[string]bool, len(vars))
	for _, v := range vars {
		ours[v.name] = true
	}
	var out []string
	for _, pair := range environ {
		if name, _, _ := strings.Cut(pair, "="); !ours[name] {
			out = append(out, pair)
		}
	}
	for _, v := range vars {
		out = append(out, v.name+"="+v.value)
	}
	return out
}
