package config

import (
	"slices"
	"strings"
)

// mask stands for the value of a secret wherever values are shown.
const mask = "********"

// key is one setting. Everything that is known of it stands in one row of table.
type key struct {
	name     string // dotted, lower case, as in config.yaml
	kind     kind
	fallback string // the default, written as the environment would hold it
	rule     rule
	secret   bool
	restart  bool                // a change of it waits for a restart
	conceal  func(string) string // hides what is secret in a text; nil when nothing is
}

// Keys returns the names of all settings, in the order of config.yaml.
func Keys() []string {
	names := make([]string, len(table))
	for i, k := range table {
		names[i] = k.name
	}
	return names
}

func lookup(name string) (key, bool) {
	i := slices.IndexFunc(table, func(k key) bool { return k.name == name })
	if i < 0 {
		return key{}, false
	}
	return table[i], true
}

// isSection reports whether keys lie beneath name.
func isSection(name string) bool {
	return slices.ContainsFunc(table, func(k key) bool { return strings.HasPrefix(k.name, name+".") })
}

// variable is the environment variable of the key.
func (k key) variable() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(k.name, ".", "_"))
}

// shown is v in the form of [Setting], without what is secret.
func (k key) shown(v any) any {
	v = plain(v)
	text, ok := v.(string)
	switch {
	case !ok || text == "":
	case k.secret:
		return mask
	case k.conceal != nil:
		return k.conceal(text)
	}
	return v
}

// display is v as a person may see it.
func (k key) display(v any) string {
	text := render(v)
	if k.secret && text != "" {
		return mask
	}
	if k.conceal != nil {
		text = k.conceal(text)
	}
	return text
}
