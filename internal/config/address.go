package config

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

var hostPort = ruleOf("host:port, such as 127.0.0.1:8080, [::1]:8080 or :8080", func(s string) string {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "not host:port"
	}
	if host != "" && !isAddr(host) && !isName(host) {
		return fmt.Sprintf("%q is neither a name nor an address", host)
	}
	if !isPort(port) {
		return fmt.Sprintf("%q is not a port from 0 to 65535", port)
	}
	return ""
})

// isPort wants plain digits; net would also take service names, which differ
// from one machine to the next.
func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

func isAddr(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

// isName takes what DNS and hosts files hold. A last label of digits alone would
// be a mistyped IPv4 address.
func isName(s string) bool {
	if len(s) > 253 {
		return false
	}
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || strings.HasPrefix(l, "-") || strings.HasSuffix(l, "-") {
			return false
		}
		if strings.ContainsFunc(l, func(r rune) bool { return !isTokenRune(r) }) {
			return false
		}
	}
	return strings.Trim(labels[len(labels)-1], "0123456789") != ""
}

// isLoopback reports whether only this machine can reach the address. A name
// other than localhost may mean anything, so it counts as reachable.
func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// collide reports whether the two addresses cannot both be bound. Port 0 never
// collides: the system picks one that is free.
func collide(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil {
		return false
	}
	numA, errA := strconv.ParseUint(portA, 10, 16)
	numB, errB := strconv.ParseUint(portB, 10, 16)
	if errA != nil || errB != nil || numA != numB || numA == 0 {
		return false
	}
	return covers(hostA, hostB) || covers(hostB, hostA)
}

// covers reports whether binding wide takes narrow too.
func covers(wide, narrow string) bool {
	if wide == "" || strings.EqualFold(wide, narrow) {
		return true
	}
	w, err := netip.ParseAddr(wide)
	if err != nil {
		return false
	}
	if strings.EqualFold(narrow, "localhost") {
		return w.IsUnspecified() || w.Unmap() == netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	n, err := netip.ParseAddr(narrow)
	if err != nil {
		return w.IsUnspecified()
	}
	if w.IsUnspecified() {
		return w.Is6() || n.Unmap().Is4()
	}
	return w.Unmap() == n.Unmap()
}
