package config

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Client is settings for some clients. What is empty is inherited.
type Client struct {
	User     string         // "" is anybody
	Networks []netip.Prefix // empty is everywhere; masked, IPv4 is never IPv4-mapped
	Tokens   []string
	Profile  string
	Mode     string // enforce | monitor
}

// Override is the operator's exception for some hosts.
type Override struct {
	Host       string // name, address, *.suffix or *, each with or without :port
	Action     string // allow | deny | robots
	RobotsFile string // with action robots; "" is the host's own
	Tokens     []string
	Reason     string
	Expires    time.Time // the last day, in UTC, at midnight; zero is never
}

// objects are the keys of each object in a list of objects, by the list.
var objects = map[string][]key{
	"clients": {
		{name: "user", kind: text, rule: userName},
		{name: "networks", kind: prefixes, rule: networks},
		{name: "tokens", kind: texts, rule: tokens.orNone()},
		{name: "profile", kind: text, rule: like("matching.profile").orEmpty()},
		{name: "mode", kind: text, rule: oneOf("enforce", "monitor", "")},
	},
	"overrides": {
		{name: "host", kind: text, rule: anyHost},
		{name: "action", kind: text, rule: oneOf("allow", "deny", "robots")},
		{name: "robots_file", kind: text, rule: line},
		{name: "tokens", kind: texts, rule: tokens.orNone()},
		{name: "reason", kind: text, rule: line},
		{name: "expires", kind: date, rule: ruleOf("a date such as 2027-01-31", func(time.Time) string { return "" })},
	},
}

// fileOnly reports whether the key cannot be set by a variable.
func (k key) fileOnly() bool { return objects[k.name] != nil }

// list reads a list of objects. Each fault has the line of what it is about.
func (t tree) list(k key, n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		t.fault(Fault{Key: k.name, Where: t.at(n), Problem: describe(n) + " where a list is expected", Allowed: k.rule.allowed})
		return
	}
	before := len(t.faults)
	items := make([]map[string]any, len(n.Content))
	lines := make([]string, len(n.Content))
	for i, c := range n.Content {
		items[i], lines[i] = t.object(k, fmt.Sprintf("%s[%d]", k.name, i+1), c), t.at(c)
	}
	if len(t.faults) > before {
		return
	}
	var v any
	if k.name == "clients" {
		v = t.clients(items, lines)
	} else {
		v = t.overrides(items, lines)
	}
	if len(t.faults) == before {
		t.values[k.name], t.sources[k.name] = v, t.at(n)
	}
}

// object reads one object of the list k.
func (t tree) object(k key, path string, n *yaml.Node) map[string]any {
	keys := objects[k.name]
	names := make([]string, len(keys))
	for i, o := range keys {
		names[i] = o.name
	}
	if n.Kind != yaml.MappingNode {
		t.fault(Fault{Key: path, Where: t.at(n), Problem: describe(n) + " where keys with values are expected", Allowed: strings.Join(names, ", ")})
		return nil
	}
	values := map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, v := n.Content[i], n.Content[i+1]
		if name.Kind == yaml.AliasNode || name.ShortTag() == "!!merge" || v.Kind == yaml.AliasNode {
			continue // references has told of it
		}
		full := join(path, name.Value)
		if _, seen := values[name.Value]; seen {
			t.fault(Fault{Key: full, Where: t.at(name), Problem: "given twice", Allowed: "each key once"})
			continue
		}
		values[name.Value] = nil
		known := false
		for _, o := range keys {
			if o.name == name.Value && name.Kind == yaml.ScalarNode {
				known = true
				values[o.name] = t.value(o, full, v)
			}
		}
		if !known {
			t.fault(Fault{Key: full, Where: t.at(name), Problem: "unknown key" + didYouMean(name.Value, names, "."), Allowed: strings.Join(names, ", ")})
		}
	}
	return values
}

// value reads the value of one key of an object; nil when it is faulty.
func (t tree) value(k key, full string, n *yaml.Node) any {
	v, err := k.kind.read(n)
	if err != nil {
		t.fault(Fault{Key: full, Value: render(n), Where: t.at(n), Problem: err.Error(), Allowed: k.rule.allowed})
		return nil
	}
	if problem := k.rule.problem(v); problem != "" {
		t.fault(Fault{Key: full, Value: render(v), Where: t.at(n), Problem: problem, Allowed: k.rule.allowed})
		return nil
	}
	return v
}

// of returns the value of a key, or the zero value when it is not given.
func of[T any](values map[string]any, name string) T {
	v, _ := values[name].(T)
	return v
}

func (t tree) clients(items []map[string]any, lines []string) []Client {
	out := make([]Client, len(items))
	for i, m := range items {
		out[i] = Client{
			User: of[string](m, "user"), Networks: of[[]netip.Prefix](m, "networks"), Tokens: of[[]string](m, "tokens"),
			Profile: of[string](m, "profile"), Mode: of[string](m, "mode"),
		}
		if out[i].User == "" && len(out[i].Networks) == 0 {
			t.fault(Fault{Key: fmt.Sprintf("clients[%d]", i+1), Where: lines[i], Problem: "would apply to everybody", Allowed: "user, networks, or both"})
		}
	}
	return out
}

func (t tree) overrides(items []map[string]any, lines []string) []Override {
	out := make([]Override, len(items))
	for i, m := range items {
		o := Override{
			Host: of[string](m, "host"), Action: of[string](m, "action"), RobotsFile: of[string](m, "robots_file"),
			Tokens: of[[]string](m, "tokens"), Reason: strings.TrimSpace(of[string](m, "reason")), Expires: of[time.Time](m, "expires"),
		}
		out[i] = o
		fault := func(name, problem, allowed string) {
			t.fault(Fault{Key: fmt.Sprintf("overrides[%d].%s", i+1, name), Where: lines[i], Problem: problem, Allowed: allowed})
		}
		for name, value := range map[string]string{"host": o.Host, "action": o.Action, "reason": o.Reason} {
			if value == "" {
				fault(name, "missing", map[string]string{
					"host": anyHost.allowed, "action": "allow, deny or robots", "reason": "why there is an exception; it goes into each record",
				}[name])
			}
		}
		content := o.RobotsFile != "" || len(o.Tokens) > 0
		switch {
		case o.Action == "robots" && !content:
			fault("robots_file", "missing", "a robots.txt file, tokens, or both, with action robots")
		case o.Action != "robots" && o.Action != "" && content:
			fault("action", "robots_file and tokens have no part in "+o.Action, "action: robots, or neither of the two")
		}
	}
	return out
}

// shown is an object as it is shown: what is empty is left out.
type shown []struct {
	name  string
	value any
}

func (s *shown) add(name string, value any) {
	switch v := value.(type) {
	case string:
		if v == "" {
			return
		}
	case []string:
		if len(v) == 0 {
			return
		}
	}
	*s = append(*s, struct {
		name  string
		value any
	}{name, value})
}

func (c Client) shown() (s shown) {
	s.add("user", c.User)
	s.add("networks", prefixTexts(c.Networks))
	s.add("tokens", c.Tokens)
	s.add("profile", c.Profile)
	s.add("mode", c.Mode)
	return s
}

func (o Override) shown() (s shown) {
	s.add("host", o.Host)
	s.add("action", o.Action)
	s.add("robots_file", o.RobotsFile)
	s.add("tokens", o.Tokens)
	s.add("reason", o.Reason)
	if !o.Expires.IsZero() {
		s.add("expires", o.Expires.Format(time.DateOnly))
	}
	return s
}

// MarshalJSON writes an object.
func (s shown) MarshalJSON() ([]byte, error) {
	m := make(map[string]any, len(s))
	for _, f := range s {
		m[f.name] = f.value
	}
	return json.Marshal(m)
}

// flow is the object as YAML on one line.
func (s shown) flow() string {
	fields := make([]string, len(s))
	for i, f := range s {
		fields[i] = f.name + ": " + flow(f.value)
	}
	return "{" + strings.Join(fields, ", ") + "}"
}
