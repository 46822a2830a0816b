package policy

import (
	"slices"
	"strings"
)

// Parse reads a robots.txt. It never fails: what can be read of any bytes is
// used and the rest ignored, line by line (RFC 9309 2.3.1.5). It takes time in
// proportion to body, which it does not keep and does not change.
func Parse(body []byte) *Robots {
	p := parser{groups: map[string][]int{}}
	text := decodeText(body)
	for n := 1; text != ""; n++ {
		var line string
		line, text = cutLine(text)
		p.line(n, line)
	}
	return &Robots{rules: slices.Clip(p.rules), blocks: slices.Clip(p.blocks), groups: p.groups}
}

// A key is the meaning of the word before the colon.
type key uint8

const (
	unknownKey key = iota
	agentKey
	allowKey
	disallowKey
)

// keys holds the spellings that are read, in lower case. Beside the standard's
// own they are the slips that real files make often and that can mean nothing
// else.
var keys = map[string]key{
	"user-agent": agentKey,
	"useragent":  agentKey,
	"user agent": agentKey,
	"allow":      allowKey,
	"disallow":   disallowKey,
	"dissallow":  disallowKey,
	"dissalow":   disallowKey,
	"disalow":    disallowKey,
	"diasllow":   disallowKey,
	"disallaw":   disallowKey,
}

const longestKey = len("user-agent")

type parser struct {
	rules  []rule
	blocks []block
	groups map[string][]int
	ruled  bool // the last block has had a rule, so that the next agent line opens another
}

func (p *parser) line(n int, line string) {
	line, _, _ = strings.Cut(line, "#")
	line = trim(line)
	k, value := keyValue(line)
	switch k {
	case agentKey:
		p.agent(agentName(value))
	case allowKey, disallowKey:
		p.rule(rule{text: line, line: n, allow: k == allowKey}, value)
	}
	// Any other record leaves groups as they are (RFC 9309 2.2.4).
}

// agent opens or extends a block. A line that names nothing does so too: what
// follows it is meant for somebody else than the agents above.
func (p *parser) agent(name string) {
	if p.ruled || len(p.blocks) == 0 {
		p.blocks = append(p.blocks, block{from: len(p.rules), to: len(p.rules)})
		p.ruled = false
	}
	if name == "" {
		return
	}
	name = strings.ToLower(name)
	current := len(p.blocks) - 1
	if named := p.groups[name]; len(named) == 0 || named[len(named)-1] != current {
		p.groups[name] = append(named, current)
	}
}

// rule adds a rule to the current block; before the first agent line there is
// none, and the rule is ignored (RFC 9309 2.2.2). One without a usable path
// matches nothing, but ends the run of agent lines all the same.
func (p *parser) rule(r rule, path string) {
	if len(p.blocks) == 0 {
		return
	}
	p.ruled = true
	if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "*") {
		return
	}
	r.pattern = newPattern(path)
	p.rules = append(p.rules, r)
	p.blocks[len(p.blocks)-1].to = len(p.rules)
}

// keyValue parts a line at its colon. Where that leaves no known key the colon
// may be missing (the one in "Disallow /a:b" belongs to the path): then the
// last word is the value. Only one word is taken, because prose that begins
// with a key is commoner than a path that holds a space.
func keyValue(line string) (key, string) {
	if name, value, ok := strings.Cut(line, ":"); ok {
		if k := keyOf(trim(name)); k != unknownKey {
			return k, trim(value)
		}
	}
	if i := strings.LastIndexAny(line, " \t"); i >= 0 {
		return keyOf(trim(line[:i])), line[i+1:]
	}
	return unknownKey, ""
}

func keyOf(name string) key {
	if len(name) > longestKey {
		return unknownKey
	}
	var lower [longestKey]byte
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return keys[string(lower[:len(name)])]
}
