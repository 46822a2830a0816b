package config

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Setting is one setting as it is shown. Value is a string, bool, int, []int,
// []string or a list of objects; a secret is masked unless it is empty.
type Setting struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Source string `json:"source"`
}

// Settings returns every setting with its source, in the order of Keys.
func (l *Loaded) Settings() []Setting {
	values := l.Config.values()
	out := make([]Setting, len(table))
	for i, k := range table {
		out[i] = Setting{Key: k.name, Value: k.shown(values[k.name]), Source: l.Source(k.name)}
	}
	return out
}

// YAML returns the settings as a configuration file in which a comment after
// each says where it came from. But for the secrets, loading it gives the same
// configuration.
func (l *Loaded) YAML() string {
	var b strings.Builder
	var open []string
	for _, s := range l.Settings() {
		parts := strings.Split(s.Key, ".")
		sections, name := parts[:len(parts)-1], parts[len(parts)-1]
		for i, section := range sections {
			if i >= len(open) || open[i] != section {
				fmt.Fprintf(&b, "%s%s:\n", strings.Repeat("  ", i), section)
				open = append(open[:i:i], section)
			}
		}
		open = open[:len(sections):len(sections)]
		// A path in the source may hold anything, a line break included.
		fmt.Fprintf(&b, "%s%s: %s # %s\n", strings.Repeat("  ", len(sections)), name, flow(s.Value), printable(s.Source))
	}
	return b.String()
}

func plain(v any) any {
	switch v := v.(type) {
	case time.Duration:
		return renderDuration(v)
	case Size:
		return v.String()
	case []netip.Prefix:
		return prefixTexts(v)
	case []string:
		return append([]string{}, v...)
	case []int:
		return append([]int{}, v...)
	case []Client:
		return shownList(v)
	case []Override:
		return shownList(v)
	}
	return v
}

func shownList[T interface{ shown() shown }](list []T) []shown {
	out := make([]shown, len(list))
	for i, v := range list {
		out[i] = v.shown()
	}
	return out
}

// flow is a plain value as YAML that fits on one line.
func flow(v any) string {
	switch v := v.(type) {
	case string:
		return flowText(v)
	case []string:
		items := make([]string, len(v))
		for i, s := range v {
			items[i] = flowText(s)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case []int:
		return render(v)
	case []shown:
		items := make([]string, len(v))
		for i, s := range v {
			items[i] = s.flow()
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// flowText leaves text bare when YAML reads it back as the same text, and quotes
// it as JSON, which YAML takes too, when not.
func flowText(s string) string {
	var list []string
	bare := fmt.Sprintf("[%s]", s)
	if yaml.Unmarshal([]byte(bare), &list) == nil && len(list) == 1 && list[0] == s && readsAsText(s) {
		return s
	}
	quoted, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(quoted)
}

func readsAsText(s string) bool {
	var doc yaml.Node
	if yaml.Unmarshal([]byte(s), &doc) != nil || len(doc.Content) != 1 {
		return false
	}
	return doc.Content[0].Kind == yaml.ScalarNode && doc.Content[0].ShortTag() == "!!str"
}
