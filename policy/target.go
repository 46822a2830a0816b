package policy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Origin is a scheme, host and port: what a robots.txt belongs to (RFC 9309
// 2.3, RFC 6454). It is comparable; two spellings of the same origin are equal
// once parsed. The zero value names nothing.
type Origin struct {
	Scheme string // "http" or "https"
	Host   string // lower case, no trailing dot; an IPv6 literal has no brackets
	Port   uint16
}

// DefaultPort returns 80 for http, 443 for https and 0 for anything else.
func DefaultPort(scheme string) uint16 {
	switch scheme {
	case "http":
		return 80
	case "https":
		return 443
	}
	return 0
}

// Authority returns host and port as a Host field carries them: brackets
// around an IPv6 literal, no port where it is the scheme's own.
func (o Origin) Authority() string {
	host := o.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if o.Port == DefaultPort(o.Scheme) {
		return host
	}
	return host + ":" + strconv.Itoa(int(o.Port))
}

// Address returns host:port, for dialling.
func (o Origin) Address() string {
	host := o.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(o.Port))
}

// String returns the origin's serialisation, such as "https://h.example:8443".
func (o Origin) String() string { return o.Scheme + "://" + o.Authority() }

// RobotsURL returns where the origin's robots.txt lies (RFC 9309 2.3).
func (o Origin) RobotsURL() string { return o.String() + "/robots.txt" }

// Target is what a request asks for. The zero value names nothing, and no
// robots.txt allows it.
type Target struct {
	Origin Origin
	Path   string // path and query, octets as sent; starts with "/"
}

// String returns the absolute URL.
func (t Target) String() string { return t.Origin.String() + t.Path }

// IsRobotsTXT reports whether the target is /robots.txt, in any spelling that
// unreserved escapes give it (RFC 9309 2.2.2). With a query, or written with dot
// segments, it is a path like any other.
func (t Target) IsRobotsTXT() bool { return isRobotsTXT(t.Path) }

const robotsTXT = "/robots.txt"

func isRobotsTXT(path string) bool {
	return len(path) >= len(robotsTXT) && (path[1] == 'r' || path[1] == '%') && spellsRobotsTXT(path)
}

func spellsRobotsTXT(path string) bool {
	for i := range len(robotsTXT) {
		if path == "" {
			return false
		}
		c, escaped := unescape(path)
		if c != robotsTXT[i] || escaped && i == 0 {
			return false
		}
		if escaped {
			path = path[len("%72"):]
		} else {
			path = path[1:]
		}
	}
	return path == ""
}

// ParseTarget reads an absolute http or https URL. Scheme and host are brought
// into canonical form, the path and query stay as they are, a fragment is
// dropped, and an empty path becomes "/". Userinfo, a host that is neither a
// name in ASCII nor an IP literal, white space and control characters are
// errors, whose text says what is wrong and can be shown to whoever sent it.
func ParseTarget(url string) (Target, error) {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return Target{}, errors.New("not an absolute URL: it must start with http:// or https://")
	}
	for i := range len(url) {
		if url[i] <= ' ' || url[i] == 0x7f {
			return Target{}, fmt.Errorf("octet 0x%02x in a URL: percent-encode it as %%%02X", url[i], url[i])
		}
	}
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?#\\"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	origin, err := ParseOrigin(scheme, authority)
	if err != nil {
		return Target{}, err
	}
	path, _, _ = strings.Cut(path, "#")
	if strings.HasPrefix(path, `\`) {
		return Target{}, errors.New(`"\" after the host: a path starts with "/"`)
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return Target{Origin: origin, Path: path}, nil
}

// ParseOrigin joins a scheme and an authority (host, or host:port, as in a Host
// field or a CONNECT target) into an Origin. Without a port the scheme's own is
// taken. The errors are fit to be shown.
func ParseOrigin(scheme, authority string) (Origin, error) {
	o := Origin{Scheme: strings.ToLower(scheme)}
	if o.Port = DefaultPort(o.Scheme); o.Port == 0 {
		return Origin{}, fmt.Errorf("scheme %q: want http or https", scheme)
	}
	if strings.Contains(authority, "@") {
		return Origin{}, errors.New("user information in the authority: send an Authorization field instead")
	}
	host, port, err := splitPort(authority)
	if err != nil {
		return Origin{}, err
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return Origin{}, fmt.Errorf("port %q: want 1 to 65535", port)
		}
		o.Port = uint16(n)
	}
	if o.Host, err = canonicalHost(host); err != nil {
		return Origin{}, err
	}
	return o, nil
}

// splitPort parts host and port and keeps the brackets of an IPv6 literal, so
// that canonicalHost can tell "[h.example]" from "h.example".
func splitPort(authority string) (host, port string, err error) {
	if strings.HasPrefix(authority, "[") {
		end := strings.IndexByte(authority, ']')
		if end < 0 {
			return "", "", fmt.Errorf("authority %q: missing ]", authority)
		}
		host, rest := authority[:end+1], authority[end+1:]
		if rest == "" {
			return host, "", nil
		}
		if rest[0] != ':' {
			return "", "", fmt.Errorf("authority %q: want a port after ]", authority)
		}
		return host, rest[1:], nil
	}
	host, port, _ = strings.Cut(authority, ":")
	if strings.Contains(port, ":") {
		return "", "", fmt.Errorf("authority %q: an IPv6 address needs brackets", authority)
	}
	return host, port, nil
}
