package config

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document reads the bytes of the file called name: one YAML document without
// anchors, aliases and merge keys, so that what stands on a line is all that the
// line says.
func document(name string, data []byte) *layer {
	l := newLayer()
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return l
	}
	if err != nil {
		l.fault(syntaxFault(name, err))
		return l
	}
	t := tree{l, name}
	t.references(&doc)
	for _, root := range doc.Content {
		t.section("", root)
	}
	switch err := decoder.Decode(&next); {
	case err == nil:
		t.fault(Fault{Where: t.at(&next), Problem: "a second document", Allowed: "one document a file"})
	case !errors.Is(err, io.EOF):
		t.fault(syntaxFault(name, err))
	}
	return l
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// syntaxFault moves the line number from the parser's message to its place.
func syntaxFault(name string, err error) Fault {
	problem, where := strings.TrimPrefix(err.Error(), "yaml: "), "file "+name
	if m := yamlLine.FindStringSubmatch(problem); m != nil {
		where += ":" + m[1]
		problem = strings.TrimPrefix(problem, m[0])
	}
	return Fault{Where: where, Problem: "not YAML: " + problem}
}

// references finds anchors, aliases and merge keys anywhere beneath n. Aliases
// are not followed, so a nest of them costs nothing.
func (t tree) references(n *yaml.Node) {
	const allowed = "the values themselves"
	switch {
	case n.Kind == yaml.AliasNode:
		t.fault(Fault{Where: t.at(n), Problem: "the alias *" + n.Value + " is not supported", Allowed: allowed})
		return
	case n.Anchor != "":
		t.fault(Fault{Where: t.at(n), Problem: "the anchor &" + n.Anchor + " is not supported", Allowed: allowed})
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!merge":
		t.fault(Fault{Where: t.at(n), Problem: "the merge key << is not supported", Allowed: allowed})
	}
	for _, c := range n.Content {
		t.references(c)
	}
}
