package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/net/idna"

	"heed/policy"
)

// ParseTarget reads an absolute URL as the proxy does: an internationalised
// host is brought into its ASCII form (RFC 5891), a "%" in the path that begins no
// escape is an error, as it is to net/http, and the rest is [policy.ParseTarget]'s
// work. The errors are fit to be shown.
func ParseTarget(url string) (policy.Target, error) {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return policy.ParseTarget(url)
	}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, `/?#\`); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	authority, err := asciiHost(authority)
	if err != nil {
		return policy.Target{}, err
	}
	if err := checkEscapes(tail); err != nil {
		return policy.Target{}, err
	}
	return policy.ParseTarget(scheme + "://" + authority + tail)
}

// checkEscapes refuses a path with a "%" that does not begin an escape.
func checkEscapes(tail string) error {
	path := tail
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	for i := strings.IndexByte(path, '%'); i >= 0; {
		if len(path) < i+3 || !isHex(path[i+1]) || !isHex(path[i+2]) {
			return fmt.Errorf("invalid URL escape %q", path[i:min(i+3, len(path))])
		}
		path = path[i+3:]
		i = strings.IndexByte(path, '%')
	}
	return nil
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// asciiHost returns the authority with an internationalised name in its ASCII
// form, and anything in ASCII as it is.
func asciiHost(authority string) (string, error) {
	for i := range len(authority) {
		if authority[i] < 0x80 {
			continue
		}
		host, port := authority, ""
		if hasPort(authority) {
			at := strings.LastIndexByte(authority, ':')
			host, port = authority[:at], authority[at:]
		}
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", fmt.Errorf("host %q: not an internationalised domain name", host)
		}
		return ascii + port, nil
	}
	return authority, nil
}

// targetOf returns what r asks for, judged on what is really contacted: in a
// tunnel that is the CONNECT authority, otherwise the request target. The
// received Host field does not count outside a tunnel (RFC 9110 7.2).
func targetOf(r *http.Request, client *clientConn) (policy.Target, policy.Reason, error) {
	if r.URL.User != nil {
		return policy.Target{}, policy.ReasonBadRequest, errors.New("user information in the request target: send an Authorization field instead")
	}
	if client == nil {
		t, err := ParseTarget(r.RequestURI)
		if err == nil {
			err = checkPath(t.Path, r.RequestURI)
		}
		return t, policy.ReasonBadRequest, err
	}
	if reason, err := checkHost(client.origin, r.Host); err != nil {
		return policy.Target{}, reason, err
	}
	t := policy.Target{Origin: client.origin, Path: r.RequestURI}
	switch {
	case strings.HasPrefix(r.RequestURI, "/"):
	case r.RequestURI == "*" && r.Method == http.MethodOptions:
		t.Path = "/" // what it is judged as
	default:
		var err error
		if t, err = ParseTarget(r.RequestURI); err != nil {
			return policy.Target{}, policy.ReasonBadRequest, err
		}
		if t.Origin != client.origin {
			return policy.Target{}, policy.ReasonHostMismatch, mismatch(t.Origin, client.origin)
		}
	}
	return t, policy.ReasonBadRequest, checkPath(t.Path, r.RequestURI)
}

// checkHost refuses a request in a tunnel whose Host field names another origin
// than the tunnel leads to. An absent one (HTTP/1.0) names none.
func checkHost(tunnel policy.Origin, host string) (policy.Reason, error) {
	if host == "" {
		return "", nil
	}
	ascii, err := asciiHost(host)
	if err != nil {
		return policy.ReasonBadRequest, err
	}
	named, err := policy.ParseOrigin(tunnel.Scheme, ascii)
	if err != nil {
		return policy.ReasonBadRequest, err
	}
	if named != tunnel {
		return policy.ReasonHostMismatch, mismatch(named, tunnel)
	}
	return "", nil
}

func mismatch(named, tunnel policy.Origin) error {
	return fmt.Errorf("the request names %s, but the tunnel was opened to %s", named, tunnel)
}

// checkPath refuses what would be sent otherwise than it is judged.
func checkPath(path, target string) error {
	if strings.Contains(target, "#") {
		return errors.New(`"#" in the request target: a fragment is not sent, and a literal one is written %23`)
	}
	for i := range len(path) {
		if path[i] <= ' ' || path[i] == 0x7f {
			return fmt.Errorf("octet 0x%02x in the request target: percent-encode it as %%%02X", path[i], path[i])
		}
	}
	return nil
}
