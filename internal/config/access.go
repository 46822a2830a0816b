package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// date reads a day. YAML knows it as a type of its own.
var date = kind{read: func(n *yaml.Node) (any, error) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!timestamp" && n.ShortTag() != "!!str" {
		return nil, fmt.Errorf("%s where a date is expected", describe(n))
	}
	day, err := time.Parse(time.DateOnly, n.Value)
	if err != nil {
		return nil, errors.New("not a date")
	}
	return day, nil
}}

// ports is a list of numbers.
var ports = kind{list: true, read: func(n *yaml.Node) (any, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("%s where a list is expected", describe(n))
	}
	list := make([]int, 0, len(n.Content))
	for i, c := range n.Content {
		v, err := integer.read(c)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		list = append(list, v.(int))
	}
	return list, nil
}}

var (
	portNumbers = ruleOf("a list of ports from 1 to 65535; empty is any", func(list []int) string {
		if i := slices.IndexFunc(list, func(p int) bool { return p < 1 || p > 65535 }); i >= 0 {
			return fmt.Sprintf("%d is not a port", list[i])
		}
		return ""
	})

	userName = ruleOf("a name of auth.users_file", func(s string) string {
		if strings.Contains(s, ":") {
			return "holds a colon, which ends a user's name"
		}
		return badLine(s)
	})

	anyHost = ruleOf("a name, an address, *.suffix or *, each with or without :port", func(s string) string {
		if rest, ok := strings.CutPrefix(s, "*"); ok && (rest == "" || strings.HasPrefix(rest, ":")) {
			s = "all" + rest
		}
		if problem := badHostPattern(s); problem != "" {
			return fmt.Sprintf("%q %s", s, problem)
		}
		return ""
	})

	clientList   = ruleOf("a list of {user, networks, tokens, profile, mode}", func([]Client) string { return "" })
	overrideList = ruleOf("a list of {host, action, robots_file, tokens, reason, expires}", func([]Override) string { return "" })

	// upstream is the proxy that leads out.
	upstream = ruleOf(`"", env, or http://, https:// or socks5:// with [user:password@]host:port`, func(s string) string {
		if s == "" || s == "env" {
			return ""
		}
		u, err := url.Parse(s)
		switch {
		case err != nil || u.Hostname() == "":
			return "not a URL with a host"
		case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5":
			return "not a known kind of proxy"
		case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
			return "a proxy has no path"
		case u.Port() == "" && u.Scheme == "socks5":
			return "has no port"
		}
		return ""
	})
)

// like is the rule of another key. It is looked up when it is asked, because
// the tables would depend on each other.
func like(name string) rule {
	return rule{"a value of " + name, func(v any) string {
		k, _ := lookup(name)
		return k.rule.problem(v)
	}}
}

// orNone allows an empty list too.
func (r rule) orNone() rule {
	return rule{r.allowed, func(v any) string {
		if list, ok := v.([]string); ok && len(list) == 0 {
			return ""
		}
		return r.problem(v)
	}}
}

// hideUserinfo masks the credentials of a URL, also of one that cannot be read.
func hideUserinfo(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		scheme, rest = "", s
	} else {
		scheme += "://"
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		return scheme + mask + rest[at:]
	}
	return s
}

// validateAccess judges what depends on more than one key.
func (c Config) validateAccess(now time.Time) (warnings []string, faults []Fault) {
	for i, client := range c.Clients {
		if client.User != "" && c.Auth.UsersFile == "" {
			faults = append(faults, Fault{Key: "clients", Value: client.User,
				Problem: fmt.Sprintf("clients[%d] names a user, and auth.users_file is empty: nobody has a name", i+1), Allowed: "networks, or a users file"})
		}
	}
	for i, o := range c.Overrides {
		if !o.Expires.IsZero() && !now.Before(o.Expires.AddDate(0, 0, 1)) {
			warnings = append(warnings, fmt.Sprintf("overrides[%d] (%s %s): expired on %s and is ignored",
				i+1, o.Action, printable(o.Host), o.Expires.Format(time.DateOnly)))
		}
	}
	return warnings, faults
}
