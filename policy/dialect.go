package policy

import "strings"

// A key is the meaning of the word before the colon.
type key uint8

const (
	otherKey key = iota
	agentKey
	allowKey
	disallowKey
)

// A record is a line as it was read. Offsets are into the text.
type record struct {
	key       key
	line      int // from 1
	at        int // where the line begins
	start     int // text[start:end] is the line's own text, without comment and outer blanks
	end       int
	from, to  int // text[from:to] is the value
	colonless bool
}

// A dialect is a way to read lines.
type dialect struct {
	google bool
	token  func(s string) string // the product token that s begins with, "" for none
}

var (
	heed    = &dialect{token: productToken}
	googles = &dialect{token: googleToken, google: true}
)

// read leaves line and at alone.
func (d *dialect) read(r *record, text string, from, to int) {
	if d.google {
		readAsGoogle(r, text, from, to)
	} else {
		readRecord(r, text, from, to)
	}
}

// A reader walks through the agent and rule records of a text.
type reader struct {
	record
	lines
	dialect *dialect
}

// reader starts at the line that begins at offset at and has the number.
func (d *dialect) reader(text string, at, number int) reader {
	return reader{lines: linesFrom(text, at, number), dialect: d}
}

func (r *reader) next() bool {
	for r.scan() {
		if !mayBeRead(r.text, r.lines.from, r.lines.to) {
			continue
		}
		if r.dialect.read(&r.record, r.text, r.lines.from, r.lines.to); r.key != otherKey {
			r.line, r.at = r.number, r.lines.from
			return true
		}
	}
	return false
}

// value is what follows the key.
func (r *reader) value() string { return r.text[r.record.from:r.record.to] }

// mayBeRead passes over, at one look, what no dialect takes for agent or rule.
func mayBeRead(text string, from, to int) bool {
	for from < to && blank(text[from]) {
		from++
	}
	if from == to {
		return false
	}
	switch text[from] | 0x20 {
	case 'u', 'a', 'd':
		return true
	}
	return false
}

// readRecord is RFC 9309 2.2. The line is parted at its colon; where that leaves
// no known key the colon may be missing (the one in "Disallow /a:b" belongs to
// the path): then the last word is the value. Only one word is taken, because
// prose that begins with a key is commoner than a path that holds a space.
func readRecord(r *record, text string, from, to int) {
	r.uncomment(text, from, to)
	line := text[r.start:r.end]
	if i := strings.IndexByte(line, ':'); i >= 0 {
		if r.key = keyOf(trimmed(line[:i])); r.key != otherKey {
			r.from, r.to = trim(text, r.start+i+1, r.end)
			return
		}
	}
	if i := strings.LastIndexAny(line, " \t"); i >= 0 {
		r.key, r.colonless = keyOf(trimmed(line[:i])), true
		r.from, r.to = r.start+i+1, r.end
	}
}

// uncomment makes r a record with nothing but its text.
func (r *record) uncomment(text string, from, to int) {
	if i := strings.IndexByte(text[from:to], '#'); i >= 0 {
		to = from + i
	}
	from, to = trim(text, from, to)
	*r = record{start: from, end: to, from: to, to: to}
}

const longestKey = len("user-agent")

// keyOf knows, beside the standard's own keys, the slips that real files make
// often and that can mean nothing else.
func keyOf(name string) key {
	if len(name) > longestKey {
		return otherKey
	}
	var lower [longestKey]byte
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	switch string(lower[:len(name)]) {
	case "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw":
		return disallowKey
	case "allow":
		return allowKey
	case "user-agent", "useragent", "user agent":
		return agentKey
	}
	return otherKey
}

// agentName returns what the value of an agent line names: a product token,
// the wildcard, or "" for nothing.
func (d *dialect) agentName(value string) string {
	if rest, ok := strings.CutPrefix(value, wildcard); ok && (rest == "" || blank(rest[0])) {
		return wildcard
	}
	return d.token(value)
}

// productToken returns the leading run of letters, digits, "_" and "-" of s,
// which cuts a version or a comment. RFC 9309 2.2.1 knows no digits, but names
// such as MJ12bot are in wide use.
func productToken(s string) string {
	for i := range len(s) {
		if c := s[i]; !alphanumeric(c) && c != '_' && c != '-' {
			return s[:i]
		}
	}
	return s
}

func alphanumeric(c byte) bool { return letter(c) || '0' <= c && c <= '9' }

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
