package config

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// textNode reads text from outside YAML as the node that the kind expects: a
// list is split on commas, and each part is one YAML scalar. Empty text is an
// empty list or an empty string, and no value for any other kind.
func textNode(k kind, s string) *yaml.Node {
	if !k.list {
		return scalar(k, s)
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	if strings.TrimSpace(s) == "" {
		return list
	}
	for item := range strings.SplitSeq(s, ",") {
		list.Content = append(list.Content, scalar(k, item))
	}
	return list
}

// scalar reads s as one YAML scalar. What YAML would take for more than that (a
// colon and a space, a comment, a leading @ or *) is text: nobody writes
// structures into a variable, but tokens and user agents hold such characters.
func scalar(k kind, s string) *yaml.Node {
	s = strings.TrimSpace(s)
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(s), &doc); err == nil && len(doc.Content) == 1 && isWhole(doc.Content[0], s) {
		n = doc.Content[0]
	}
	if k.asText && n.ShortTag() != "!!null" {
		n.Tag = "!!str"
	}
	if s == "" && !k.asText {
		n.Tag = "!!null"
	}
	return n
}

// isWhole reports whether the node is a scalar that says all that s says.
func isWhole(n *yaml.Node, s string) bool {
	if n.Kind != yaml.ScalarNode || n.Anchor != "" || n.HeadComment+n.LineComment+n.FootComment != "" {
		return false
	}
	switch n.Style {
	case 0:
		return n.Value == s
	case yaml.DoubleQuotedStyle:
		return len(s) > 1 && strings.HasSuffix(s, `"`)
	case yaml.SingleQuotedStyle:
		return len(s) > 1 && strings.HasSuffix(s, `'`)
	}
	return false
}
