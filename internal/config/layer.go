package config

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// layer is one source of settings after its own check: what it sets, where, and
// what was wrong with the rest.
type layer struct {
	values   map[string]any
	sources  map[string]string
	faults   []Fault
	warnings []string
}

func newLayer() *layer {
	return &layer{values: map[string]any{}, sources: map[string]string{}}
}

// set takes the node as the value of k. A faulty value is left out, so that the
// rest can still be judged.
func (l *layer) set(k key, n *yaml.Node, source string) {
	v, err := k.kind.read(n)
	if err != nil {
		l.fault(Fault{Key: k.name, Value: k.display(n), Where: source, Problem: err.Error(), Allowed: k.rule.allowed})
		return
	}
	if problem := k.rule.problem(v); problem != "" {
		l.fault(Fault{Key: k.name, Value: k.display(v), Where: source, Problem: problem, Allowed: k.rule.allowed})
		return
	}
	l.values[k.name], l.sources[k.name] = v, source
}

// setText takes text from outside YAML: a variable, a flag or a default.
func (l *layer) setText(k key, s, source string) {
	l.set(k, textNode(k.kind, s), source)
}

func (l *layer) fault(f Fault) {
	l.faults = append(l.faults, f)
}

// nested is the values in the shape that viper merges.
func (l *layer) nested() map[string]any {
	root := map[string]any{}
	for name, v := range l.values {
		parts := strings.Split(name, ".")
		section := root
		for _, p := range parts[:len(parts)-1] {
			next, ok := section[p].(map[string]any)
			if !ok {
				next = map[string]any{}
				section[p] = next
			}
			section = next
		}
		section[parts[len(parts)-1]] = v
	}
	return root
}

// render is a value as text for messages.
func render(v any) string {
	switch v := v.(type) {
	case *yaml.Node:
		return renderNode(v)
	case time.Duration:
		return renderDuration(v)
	case []string:
		return "[" + strings.Join(v, ", ") + "]"
	case []int:
		return strings.Join(strings.Fields(fmt.Sprint(v)), ", ")
	case time.Time:
		return v.Format(time.DateOnly)
	case []netip.Prefix:
		return "[" + strings.Join(prefixTexts(v), ", ") + "]"
	}
	return fmt.Sprint(v)
}

// renderNode shows scalars and lists of scalars as they were written; anything
// deeper may hold a secret and says little.
func renderNode(n *yaml.Node) string {
	switch n.Kind {
	case yaml.ScalarNode:
		return n.Value
	case yaml.SequenceNode:
		items := make([]string, len(n.Content))
		for i, c := range n.Content {
			items[i] = "…"
			if c.Kind == yaml.ScalarNode {
				items[i] = c.Value
			}
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return ""
}

// renderDuration drops the zero parts: 24h, not 24h0m0s.
func renderDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// prefixTexts shows a network of one address as that address.
func prefixTexts(list []netip.Prefix) []string {
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = p.String()
		if p.IsSingleIP() {
			out[i] = p.Addr().String()
		}
	}
	return out
}
