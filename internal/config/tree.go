package config

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// tree checks a document's nodes against the table.
type tree struct {
	*layer
	name string // of the file
}

func (t tree) at(n *yaml.Node) string {
	return fmt.Sprintf("file %s:%d", t.name, n.Line)
}

// section reads the mapping of the keys beneath path ("" for the whole file).
func (t tree) section(path string, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && n.Value == "" {
		return // a section whose keys are all commented out
	}
	if n.Kind != yaml.MappingNode {
		t.fault(Fault{Key: path, Where: t.at(n), Problem: describe(n) + " where keys with values are expected", Allowed: keysBeneath(path)})
		return
	}
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind == yaml.AliasNode || k.ShortTag() == "!!merge" {
			continue // references has told of it
		}
		full := join(path, k.Value)
		if k.Kind != yaml.ScalarNode {
			t.fault(Fault{Key: path, Where: t.at(k), Problem: describe(k) + " where the name of a key is expected", Allowed: keysBeneath(path)})
			continue
		}
		if line, seen := first[k.Value]; seen {
			t.fault(Fault{Key: full, Where: t.at(k), Problem: fmt.Sprintf("given twice, first on line %d", line), Allowed: "each key once"})
			continue
		}
		first[k.Value] = k.Line
		t.entry(path, k, v)
	}
}

// entry reads one key of a section. The value of an unknown key is never shown:
// it may be a secret under a mistyped name.
func (t tree) entry(path string, k, v *yaml.Node) {
	full := join(path, k.Value)
	setting, known := lookup(full)
	switch {
	// A dotted key would be found in the table, and viper would take it too.
	case strings.Contains(k.Value, "."):
		t.fault(Fault{Key: full, Where: t.at(k), Problem: "unknown key" + unfold(full), Allowed: keysBeneath(path)})
	case v.Kind == yaml.AliasNode:
	case known && setting.fileOnly():
		t.list(setting, v)
	case known:
		t.set(setting, v, t.at(k))
	case k.Value != "" && isSection(full):
		t.section(full, v)
	case k.Value != strings.ToLower(k.Value):
		t.fault(Fault{Key: full, Where: t.at(k), Problem: "keys are lower case" + t.near(path, strings.ToLower(k.Value)), Allowed: keysBeneath(path)})
	default:
		t.fault(Fault{Key: full, Where: t.at(k), Problem: "unknown key" + t.near(path, k.Value), Allowed: keysBeneath(path)})
	}
}

// near looks among the keys of the same section first, then everywhere.
func (t tree) near(path, name string) string {
	if s := didYouMean(name, children(path), "."); s != "" {
		return s
	}
	return didYouMean(name, Keys(), ".")
}

// unfold tells how a dotted key is written.
func unfold(full string) string {
	if _, known := lookup(full); !known {
		return didYouMean(full, Keys(), ".")
	}
	section, name, _ := strings.Cut(full, ".")
	return fmt.Sprintf("; write %s: on a line of its own and %s: indented beneath it", section, name)
}

func keysBeneath(path string) string {
	return strings.Join(children(path), ", ")
}

// children are the names of the keys and sections directly beneath path.
func children(path string) []string {
	var names []string
	for _, k := range table {
		rest := k.name
		if path != "" {
			var ok bool
			if rest, ok = strings.CutPrefix(k.name, path+"."); !ok {
				continue
			}
		}
		child, _, _ := strings.Cut(rest, ".")
		if len(names) == 0 || names[len(names)-1] != child {
			names = append(names, child)
		}
	}
	return names
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
