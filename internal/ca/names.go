package ca

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

const (
	// maxNames bounds one leaf. A tunnel needs two at most: the server name and the CONNECT host.
	maxNames = 100

	maxNameOctets  = 253 // RFC 1035 2.3.4, written without the root's dot
	maxLabelOctets = 63  // RFC 1035 2.3.4
)

// subject is what one leaf is for.
type subject struct {
	names []string // canonical, without repetition, in the order given; never empty
	dns   []string
	ips   []net.IP
}

// key tells subjects apart; no canonical name has a comma.
func (s subject) key() string {
	return strings.Join(s.names, ",")
}

func parseSubject(names []string) (subject, error) {
	var s subject
	if len(names) == 0 {
		return s, errors.New("a leaf certificate needs a name")
	}
	if len(names) > maxNames {
		return s, fmt.Errorf("%d names for one leaf certificate; at most %d", len(names), maxNames)
	}
	for _, name := range names {
		addr, err := netip.ParseAddr(name)
		isAddr := err == nil
		canonical := addr.Unmap().String()
		if isAddr && addr.Zone() != "" {
			return s, fmt.Errorf("certificate name %q: an address with a zone", name)
		}
		if !isAddr {
			canonical = strings.ToLower(strings.TrimSuffix(name, "."))
			if err := checkHost(canonical); err != nil {
				return s, fmt.Errorf("certificate name %q: %v", name, err)
			}
		}
		if slices.Contains(s.names, canonical) {
			continue
		}
		s.names = append(s.names, canonical)
		if isAddr {
			s.ips = append(s.ips, addr.Unmap().AsSlice())
		} else {
			s.dns = append(s.dns, canonical)
		}
	}
	return s, nil
}

// checkHost takes what is found in real host names: the letters, digits and hyphens of RFC 1123 2.1, and the
// underscore, which no standard allows and every client accepts.
func checkHost(host string) error {
	if len(host) > maxNameOctets {
		return fmt.Errorf("longer than %d octets", maxNameOctets)
	}
	last := ""
	for label := range strings.SplitSeq(host, ".") {
		if label == "" {
			return errors.New("an empty label")
		}
		if len(label) > maxLabelOctets {
			return fmt.Errorf("a label longer than %d octets", maxLabelOctets)
		}
		for _, c := range []byte(label) {
			if !isHostOctet(c) {
				return fmt.Errorf("octet %q has no place in a host name", c)
			}
		}
		last = label
	}
	// Such a host is read as an IPv4 address, a malformed one.
	if strings.Trim(last, "0123456789") == "" {
		return errors.New("neither a host name nor an address: the last label is a number")
	}
	return nil
}

func isHostOctet(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}
