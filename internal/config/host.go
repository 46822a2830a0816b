package config

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

var hostPatterns = ruleOf("a list of names, *.suffix, addresses or host:port, such as example.org, *.example.org or example.org:8443",
	func(list []string) string {
		for _, p := range list {
			if problem := badHostPattern(p); problem != "" {
				return fmt.Sprintf("%q %s", p, problem)
			}
		}
		return ""
	})

// networks has nothing left to check: the kind has parsed each item.
var networks = ruleOf("a list of CIDRs or single addresses, such as 10.0.0.0/8, fd00::/8 or 192.0.2.7", func([]netip.Prefix) string { return "" })

func badHostPattern(p string) string {
	switch {
	case p == "":
		return "is empty"
	case strings.Contains(p, "/"):
		return "holds a slash: a host has no scheme and no path"
	case p == "*" || strings.HasPrefix(p, "*:"):
		return "would match every host"
	}
	host := p
	// An address without a port may hold colons of its own.
	if h, port, err := net.SplitHostPort(p); err == nil && !isAddr(p) {
		if !isPort(port) || strings.Trim(port, "0") == "" {
			return "has no port from 1 to 65535 after its colon"
		}
		host = h
	}
	if isAddr(host) {
		return ""
	}
	name := strings.TrimPrefix(host, "*.")
	if strings.Contains(name, "*") {
		return "has a * elsewhere than in a leading *."
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r > '~' }) {
		return "is not ASCII; write the name in its xn-- form"
	}
	if !isName(name) {
		return "is not a host name"
	}
	return ""
}
