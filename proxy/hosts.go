package proxy

import (
	"fmt"
	"strings"

	"heed/policy"
)

// Hosts is a set of host patterns: a name or an address, "*.suffix" for every
// name below suffix, each with an optional ":port". The zero value is empty.
// It does not change and is safe for concurrent use.
type Hosts struct {
	exact  map[hostPort]bool
	suffix map[hostPort]bool
}

// hostPort has port 0 where any port is meant.
type hostPort struct {
	host string
	port uint16
}

// ParseHosts reads the patterns. The error names the first that is none.
func ParseHosts(patterns []string) (Hosts, error) {
	h := Hosts{exact: map[hostPort]bool{}, suffix: map[hostPort]bool{}}
	for _, p := range patterns {
		name, below := strings.CutPrefix(p, "*.")
		// The scheme is there to be parsed at all: port 443 is told from no
		// port by looking at the text.
		origin, err := policy.ParseOrigin("https", name)
		if err != nil {
			return Hosts{}, fmt.Errorf("host pattern %q: %w", p, err)
		}
		key := hostPort{host: origin.Host}
		if hasPort(name) {
			key.port = origin.Port
		}
		if below {
			h.suffix[key] = true
		} else {
			h.exact[key] = true
		}
	}
	return h, nil
}

// Has reports whether a pattern covers the origin.
func (h Hosts) Has(o policy.Origin) bool {
	if len(h.exact) > 0 && (h.exact[hostPort{o.Host, 0}] || h.exact[hostPort{o.Host, o.Port}]) {
		return true
	}
	if len(h.suffix) == 0 {
		return false
	}
	for rest := o.Host; ; {
		_, parent, ok := strings.Cut(rest, ".")
		if !ok {
			return false
		}
		if h.suffix[hostPort{parent, 0}] || h.suffix[hostPort{parent, o.Port}] {
			return true
		}
		rest = parent
	}
}

// hasPort reports whether an authority names a port, even an empty one.
func hasPort(authority string) bool {
	return strings.LastIndexByte(authority, ':') > strings.LastIndexByte(authority, ']')
}
