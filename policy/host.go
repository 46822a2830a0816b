package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// canonicalHost returns host in lower case without a trailing dot, an IPv6
// literal without brackets and as RFC 5952 writes it.
func canonicalHost(host string) (string, error) {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !addr.Is6() {
			return "", fmt.Errorf("host %q: only an IPv6 address stands in brackets", host)
		}
		if addr.Zone() != "" {
			return "", fmt.Errorf("host %q: a zone has no meaning to other machines", host)
		}
		return addr.String(), nil
	}
	host = strings.TrimSuffix(host, ".")
	if host == "" {
		return "", errors.New("empty host")
	}
	if len(host) > 253 {
		return "", errors.New("host longer than 253 octets")
	}
	for label := range strings.SplitSeq(host, ".") {
		if err := checkLabel(label); err != nil {
			return "", fmt.Errorf("host %q: %w", host, err)
		}
	}
	// Only after the check: U+212A, the Kelvin sign, has k as its lower case.
	host = strings.ToLower(host)
	if numeric(host[strings.LastIndexByte(host, '.')+1:]) {
		if _, err := netip.ParseAddr(host); err != nil {
			return "", fmt.Errorf("host %q: an IPv4 address is four decimal numbers without leading zeros", host)
		}
	}
	return host, nil
}

func checkLabel(label string) error {
	if label == "" {
		return errors.New("empty label")
	}
	if len(label) > 63 {
		return errors.New("label longer than 63 octets")
	}
	for i := range len(label) {
		c := label[i]
		switch {
		case alphanumeric(c), c == '-', c == '_':
		case c >= 0x80:
			return errors.New("write an internationalised name in its ASCII form (xn--…)")
		default:
			return fmt.Errorf("character %q in a name", c)
		}
	}
	return nil
}

// numeric reports whether a name that ends in label is read as an IPv4 address
// by browsers and resolvers: 2130706433, 0x7f000001 and 127.1 are 127.0.0.1 to
// some, so none of them may pass as a name.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		label = hex
		for i := range len(label) {
			if c := label[i]; ('a' > c || c > 'f') && ('0' > c || c > '9') {
				return false
			}
		}
		return true
	}
	for i := range len(label) {
		if c := label[i]; c < '0' || c > '9' {
			return false
		}
	}
	return true
}
