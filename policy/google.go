package policy

import "strings"

// googleLine is how many octets of a line Google's parser reads.
const googleLine = 2083*8 - 1

// readAsGoogle reads a line as Google's published parser does: a key is known by
// how it begins, so that "Disallowed" is one, and a missing colon is forgiven
// where the line has two words and no colon at all.
func readAsGoogle(r *record, text string, from, to int) {
	r.uncomment(text, from, to)
	start, end := r.start, r.end
	to = min(to, from+googleLine)
	if i := strings.IndexByte(text[from:to], 0); i >= 0 {
		to = from + i // a string of C ends there
	}
	r.uncomment(text, from, to)
	line := text[r.start:r.end]
	separator := strings.IndexByte(line, ':')
	if separator < 0 {
		separator = strings.IndexAny(line, " \t")
		r.colonless = true
		if separator >= 0 && strings.ContainsAny(strings.TrimLeft(line[separator:], " \t"), " \t") {
			separator = -1
		}
	}
	if separator >= 0 {
		r.key = googleKey(trimmed(line[:separator]))
		r.from, r.to = trim(text, r.start+separator+1, r.end)
	}
	r.start, r.end = start, end
}

func googleKey(name string) key {
	for _, k := range googleKeys {
		if len(name) >= len(k.prefix) && strings.EqualFold(name[:len(k.prefix)], k.prefix) {
			return k.key
		}
	}
	return otherKey
}

var googleKeys = [...]struct {
	prefix string
	key    key
}{
	{"disallow", disallowKey},
	{"allow", allowKey},
	{"user-agent", agentKey},
	{"useragent", agentKey},
	{"user agent", agentKey},
	{"dissallow", disallowKey},
	{"dissalow", disallowKey},
	{"disalow", disallowKey},
	{"diasllow", disallowKey},
	{"disallaw", disallowKey},
}

// googleToken knows no digits, as RFC 9309 2.2.1 does not.
func googleToken(s string) string {
	for i := range len(s) {
		if c := s[i]; !letter(c) && c != '_' && c != '-' {
			return s[:i]
		}
	}
	return s
}

// folder returns the pattern that Google's parser makes of an Allow rule for a
// folder's index page: the folder itself, and nothing else.
func (c *comparison) folder(pattern string) (folder string, ok bool) {
	if c != google {
		return "", false
	}
	i := strings.LastIndexByte(pattern, '/')
	if i < 0 || !strings.HasPrefix(pattern[i:], "/index.htm") {
		return "", false
	}
	return pattern[:i+1], true
}
