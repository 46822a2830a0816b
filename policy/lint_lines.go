package policy

import (
	"fmt"
	"slices"
	"strings"
)

// line looks at one line by itself.
func (l *linter) line(s *lines) {
	l.octets(s)
	l.marker(s)
	var r record
	readRecord(&r, l.text, s.from, s.to)
	if r.line, r.at = s.number, s.from; r.start == r.end {
		return
	}
	if r.key == otherKey {
		l.unread(&r)
		return
	}
	if name := l.name(&r); r.colonless {
		l.at(&r, r.from, "missing-colon", "no colon after "+quote(name)+"; not all crawlers forgive that",
			fmt.Sprintf("write %s", quote(name+": "+l.text[r.from:r.to])))
	} else if canonical := standardKeys[r.key]; !strings.EqualFold(name, canonical) {
		l.at(&r, r.start, "misspelt-key", quote(name)+" is read as "+canonical+" by heed and Google, and ignored by others", "write "+canonical)
	}
	if r.key == agentKey {
		l.agent(&r)
		return
	}
	if !l.agents {
		l.at(&r, r.start, "rule-before-agent", "a rule before the first User-agent line is ignored", `put "User-agent: *" before it`)
	}
	l.path(&r)
}

var standardKeys = map[key]string{agentKey: "User-agent", allowKey: "Allow", disallowKey: "Disallow"}

// at reports a finding at an offset into the text.
func (l *linter) at(r *record, offset int, code, message, remedy string) {
	l.report(r.line, offset-r.at+1, code, message, remedy)
}

// name returns the key as it is written.
func (l *linter) name(r *record) string {
	line := l.text[r.start:r.end]
	if r.colonless {
		return trimmed(l.text[r.start : r.from-1])
	}
	name, _, _ := strings.Cut(line, ":")
	return trimmed(name)
}

// unread looks at a line that is neither agent nor rule.
func (l *linter) unread(r *record) {
	line := l.text[r.start:r.end]
	name, value, colon := strings.Cut(line, ":")
	name = trimmed(name)
	low := strings.ToLower(name)
	e, known := extensions[low]
	meant := likelyKey(low)
	switch {
	case !colon && beginsWithKey(low) != "":
		l.at(r, r.start, "missing-colon", "the line starts like "+beginsWithKey(low)+" but has no colon, and is ignored", "write a colon and a blank after the key")
	case !colon:
		l.at(r, r.start, "line-without-key", quote(line)+" is neither a record nor a comment, and is ignored", "remove it, or put # before it")
	case name == "":
		l.at(r, r.start, "line-without-key", "nothing before the colon; the line is ignored", "write the key, or put # before the line")
	case known:
		l.extension(r, name, trimmed(value), e)
	case googleKey(name) != otherKey:
		standard := standardKeys[googleKey(name)]
		l.at(r, r.start, "key-suffix", quote(name)+" is no key and is ignored; Google reads it as "+standard, "write "+standard)
	case meant != "":
		l.at(r, r.start, "unread-key", quote(name)+" is no key and is ignored; it looks like "+meant, "write "+meant)
	default:
		l.once(r.line, r.start-r.at+1, "unknown-key", "nobody is known to read the key "+quote(name), "remove it, or put # before it")
	}
}

// extension reports a key once, and every value that cannot be read.
func (l *linter) extension(r *record, name, value string, e extension) {
	remedy := "keep it, if that is what you mean"
	if strings.HasPrefix(e.honoured, "nobody") {
		remedy = "remove it"
	}
	l.once(r.line, r.start-r.at+1, "extension", e.name+" is no part of RFC 9309: "+e.honoured, remedy)
	if e.valid != nil && !e.valid(value) {
		l.at(r, r.start, "extension-value", "the value "+quote(value)+" of "+name+" cannot be read", "write it as the crawler that you mean it for documents it")
	}
}

// agent looks at the value of an agent line.
func (l *linter) agent(r *record) {
	l.agents = true
	value := l.text[r.from:r.to]
	name := heed.agentName(value)
	switch {
	case name == "":
		l.at(r, r.from, "agent-names-nothing", quote(value)+" is no product token; the rules below are nobody's", `write a product token, or "*" for all crawlers`)
	case strings.ContainsAny(value, ",;"):
		l.at(r, r.from, "comma-list", "of "+quote(value)+" only "+quote(name)+" is read", "write one User-agent line for each crawler")
	case name == wildcard && value != wildcard:
		l.at(r, r.from+1, "agent-not-token", `of `+quote(value)+` only "*" is read`, `write "User-agent: *"`)
	case name != value:
		l.at(r, r.from+len(name), "agent-not-token", "of "+quote(value)+" only the product token "+quote(name)+" is compared", "write the product token that the crawler documents, and nothing behind it")
	case name != wildcard && googleToken(name) != name:
		l.at(r, r.from+len(googleToken(name)), "agent-digits", "RFC 9309 has no digits in a product token; Google's parser reads "+quote(googleToken(name))+" of "+quote(name), "keep it, if that is the crawler's name")
	}
}

// path looks at the path of a rule.
func (l *linter) path(r *record) {
	value := l.text[r.from:r.to]
	switch {
	case value == "":
		return
	case absoluteURL(value):
		l.at(r, r.from, "url-as-path", quote(value)+" is a URL; it matches nothing", l.pathOf(value))
		return
	case !pathLike(value):
		l.at(r, r.from, "path-without-slash", "the path "+quote(value)+" starts neither with / nor with *, and matches nothing", "write "+quote("/"+value))
		return
	}
	if i := strings.IndexByte(value, ','); i >= 0 && strings.HasPrefix(strings.TrimLeft(value[i+1:], " \t"), "/") {
		l.at(r, r.from+i, "comma-list", "one rule has one path; this one is "+quote(value), "write a line for each path")
	} else if i := strings.IndexAny(value, " \t\v\f"); i >= 0 {
		l.at(r, r.from+i, "space-in-path", "white space inside the path "+quote(value)+"; it is compared as %20", "write %20, or put # before a comment")
	}
	if i := strings.IndexByte(value, '$'); i >= 0 && i < len(value)-1 {
		l.at(r, r.from+i, "dollar-inside", `a "$" that is not at the end is an ordinary character`, "move it to the end to anchor the path, or write %24")
	}
}

func (l *linter) pathOf(url string) string {
	if t, err := ParseTarget(url); err == nil {
		return "write " + quote(t.Path) + "; a robots.txt rules its own origin only"
	}
	return "write the path alone; a robots.txt rules its own origin only"
}

// beginsWithKey returns the standard's key that a line without colon begins with.
func beginsWithKey(low string) string {
	for _, k := range standardKeys {
		if strings.HasPrefix(low, strings.ToLower(k)) {
			return k
		}
	}
	return ""
}

// likelyKey returns the key that an unknown one is a slip for, "" if none.
func likelyKey(low string) string {
	if len(low) > 40 {
		return ""
	}
	for _, k := range []string{"Disallow", "User-agent", "Allow", "Sitemap", "Crawl-delay"} {
		if strings.HasSuffix(low, strings.ToLower(k)) {
			return k
		}
		if d := distance(low, strings.ToLower(k)); d > 0 && d <= len(k)/4 {
			return k
		}
	}
	return ""
}

// distance is how many octets have to be changed, added or removed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = slices.Min([]int{change, row[j] + 1, row[j+1] + 1})
		}
	}
	return row[len(b)]
}
