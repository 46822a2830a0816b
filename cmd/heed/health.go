package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// healthTimeout is shorter than the time a container runtime gives a check.
const healthTimeout = 3 * time.Second

func healthCommand(e env) *cobra.Command {
	c := &cobra.Command{
		Use:   "health",
		Short: "Exit 0 when a running heed is ready, 1 when it is not, 3 when it does not answer",
		Args:  noArgs,
	}
	load := settings(c, e, "admin")
	quiet := c.Flags().BoolP("quiet", "q", false, "print nothing when it is ready")
	c.RunE = func(*cobra.Command, []string) error {
		loaded, err := load()
		if err != nil {
			return err
		}
		addr := loaded.Config.Admin.Listen
		if addr == "" {
			return usage("set admin.listen, or name the listener with --admin", "the admin listener is turned off")
		}
		answer, err := ready(dialable(addr))
		if err != nil {
			return err
		}
		if *quiet {
			return nil
		}
		_, err = fmt.Fprintln(e.stdout, answer)
		return err
	}
	return c
}

// ready asks for readiness and returns what the listener says.
func ready(addr string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/readyz", nil)
	if err != nil {
		return "", usage("an address is host:port", "admin listener %q: %v", addr, err)
	}
	// The environment may name a proxy, perhaps this very heed.
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return "", &failure{exitUnknown, fmt.Errorf("no answer from %s: %w", addr, err), "is heed running, and is admin.listen this address?"}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	if err != nil {
		return "", &failure{exitUnknown, fmt.Errorf("answer from %s: %w", addr, err), ""}
	}
	switch text := printable(strings.TrimSpace(string(body))); res.StatusCode {
	case http.StatusOK:
		return text, nil
	case http.StatusServiceUnavailable:
		return "", &failure{exitDisallow, fmt.Errorf("%s: %s", addr, text), ""}
	}
	return "", &failure{exitUnknown, fmt.Errorf("%s answers %s, as no heed does", addr, printable(res.Status)), "is admin.listen this address?"}
}

// dialable turns the address of a listener on all interfaces into one that can
// be asked.
func dialable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.Is6() {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port)
}
