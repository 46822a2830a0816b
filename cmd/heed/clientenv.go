package main

import (
	"net"
	"strings"
)

// variable is one setting of an environment.
type variable struct{ name, value string }

// clientEnv returns the variables that lead programs through the proxy at addr
// and, unless f is the zero value, make them trust f. getenv knows what is set
// already.
func clientEnv(addr string, f trustFiles, getenv func(string) string) []variable {
	proxy := "http://" + addr
	var vars []variable
	set := func(value string, names ...string) {
		for _, n := range names {
			vars = append(vars, variable{n, value})
		}
	}
	set(proxy, "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy", "WS_PROXY", "WSS_PROXY", "grpc_proxy",
		"GLOBAL_AGENT_HTTP_PROXY", "GLOBAL_AGENT_HTTPS_PROXY", "npm_config_proxy", "npm_config_https_proxy", "PIP_PROXY",
		"CARGO_HTTP_PROXY")
	// A list taken over from the user's shell would be a hole.
	set("", "NO_PROXY", "no_proxy", "no_grpc_proxy", "GLOBAL_AGENT_NO_PROXY")
	set("none.invalid", "npm_config_noproxy") // npm passes over one that is empty, and reads .npmrc's
	set("1", "NODE_USE_ENV_PROXY")
	if f.bundle != "" {
		set(f.bundle, "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
			"CARGO_HTTP_CAINFO", "PERL_LWP_SSL_CA_FILE", "HTTPLIB2_CA_CERTS", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "npm_config_cafile")
		set(f.ca, "NODE_EXTRA_CA_CERTS", "DENO_CERT")
	}
	set(javaOptions(addr, f.store, getenv("JAVA_TOOL_OPTIONS")), "JAVA_TOOL_OPTIONS")
	if own := getenv("_JAVA_OPTIONS"); own != "" {
		set(javaOptions(addr, f.store, own), "_JAVA_OPTIONS") // which counts for more
	}
	set("1", "HEED_ACTIVE")
	set(proxy, "HEED_PROXY")
	return vars
}

// javaMark begins the options that heed appends, so that they are not appended
// again to themselves.
const javaMark = "-Dheed.active=1"

// javaOptions appends to what is there; of a property given twice, the last one
// counts.
func javaOptions(addr, store, present string) string {
	present, _, _ = strings.Cut(present, javaMark)
	host, port, _ := net.SplitHostPort(addr)
	options := []string{
		strings.TrimSpace(present), javaMark,
		"-Dhttp.proxyHost=" + host, "-Dhttp.proxyPort=" + port, "-Dhttps.proxyHost=" + host, "-Dhttps.proxyPort=" + port,
		"-Dhttp.nonProxyHosts=", // the default leaves loopback out
	}
	if store != "" {
		options = append(options, javaQuote("-Djavax.net.ssl.trustStore="+store), "-Djavax.net.ssl.trustStoreType=PKCS12",
			"-Djavax.net.ssl.trustStorePassword="+storePassword)
	}
	return strings.TrimSpace(strings.Join(options, " "))
}

// javaQuote keeps an option with white space or a quote together.
func javaQuote(option string) string {
	switch {
	case !strings.ContainsAny(option, " \t'\""):
		return option
	case strings.Contains(option, `"`):
		return "'" + option + "'"
	}
	return `"` + option + `"`
}

// withEnv returns environ with the variables set. Other spellings of their names
// are dropped: npm, for one, reads any case.
func withEnv(environ []string, vars []variable) []string {
	ours := make(map[string]bool, len(vars))
	for _, v := range vars {
		ours[strings.ToLower(v.name)] = true
	}
	var out []string
	for _, pair := range environ {
		if name, _, _ := strings.Cut(pair, "="); !ours[strings.ToLower(name)] {
			out = append(out, pair)
		}
	}
	for _, v := range vars {
		out = append(out, v.name+"="+v.value)
	}
	return out
}
