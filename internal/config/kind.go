package config

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// kind reads the YAML node of a setting into its Go value. The errors name what
// was found; what would be allowed stands in the rule.
type kind struct {
	list   bool
	asText bool // a bare 5 or true in the environment is text here
	read   func(*yaml.Node) (any, error)
}

var (
	text     = kind{asText: true, read: func(n *yaml.Node) (any, error) { return readText(n) }}
	boolean  = kind{read: readTagged[bool]("!!bool", "true or false")}
	integer  = kind{read: readTagged[int]("!!int", "a whole number")}
	duration = kind{read: readUnit(parseDuration)}
	size     = kind{read: readUnit(ParseSize)}
	// sizeOrZero takes a bare 0, of which no unit makes anything else.
	sizeOrZero = kind{read: func(n *yaml.Node) (any, error) {
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" && n.Value == "0" {
			return Size(0), nil
		}
		return size.read(n)
	}}
	texts    = kind{list: true, asText: true, read: readList(func(s string) (string, error) { return s, nil })}
	prefixes = kind{list: true, asText: true, read: readList(parsePrefix)}
)

func readText(n *yaml.Node) (string, error) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		return n.Value, nil
	}
	found := describe(n)
	if n.Kind == yaml.ScalarNode && n.Value != "" && n.ShortTag() != "!!null" {
		return "", fmt.Errorf("%s where text is expected; put it in quotes if it is meant", found)
	}
	return "", fmt.Errorf("%s where text is expected", found)
}

func readTagged[T any](tag, want string) func(*yaml.Node) (any, error) {
	return func(n *yaml.Node) (any, error) {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != tag {
			return nil, fmt.Errorf("%s where %s is expected", describe(n), want)
		}
		var v T
		if err := n.Decode(&v); err != nil {
			return nil, fmt.Errorf("not %s", want)
		}
		return v, nil
	}
}

func readUnit[T any](parse func(string) (T, error)) func(*yaml.Node) (any, error) {
	return func(n *yaml.Node) (any, error) {
		if n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!int" || n.ShortTag() == "!!float") {
			return nil, errors.New("a number without a unit")
		}
		s, err := readText(n)
		if err != nil {
			return nil, fmt.Errorf("%s where a number with a unit is expected", describe(n))
		}
		return parse(s)
	}
}

func readList[T any](parse func(string) (T, error)) func(*yaml.Node) (any, error) {
	return func(n *yaml.Node) (any, error) {
		if n.Kind != yaml.SequenceNode {
			return nil, fmt.Errorf("%s where a list is expected", describe(n))
		}
		items := make([]T, 0, len(n.Content))
		for i, c := range n.Content {
			s, err := readText(c)
			if err != nil {
				return nil, fmt.Errorf("item %d: %w", i+1, err)
			}
			item, err := parse(s)
			if err != nil {
				return nil, fmt.Errorf("item %d: %w", i+1, err)
			}
			items = append(items, item)
		}
		return items, nil
	}
}

// parseDuration is time.ParseDuration without the bare 0.
func parseDuration(s string) (time.Duration, error) {
	if s != "" && strings.Trim(s, "+-.0123456789") == "" {
		return 0, errors.New("a number without a unit")
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, errors.New("not a duration; units are ms, s, m and h")
	}
	return d, nil
}

// parsePrefix also takes a single address. Bits beyond the prefix are a fault:
// 10.0.0.5/8 may mean one address or sixteen million.
func parsePrefix(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		return p, fmt.Errorf("%q is not a network", s)
	case p.Addr().Is4In6():
		return p, fmt.Errorf("%q is an IPv4 network in IPv6 form; write it as IPv4", s)
	case p != p.Masked():
		return p, fmt.Errorf("%q has bits beyond its prefix; did you mean %s or %s?", s, p.Masked(), p.Addr())
	}
	return p, nil
}

// describe names what a node holds, in words for a person.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a section"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!null":
		if n.Value == "" {
			return "nothing"
		}
		return "null"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!timestamp":
		return "a date"
	case "!!str":
		return "text"
	}
	return "a value with the tag " + n.ShortTag()
}
