package proxy

import (
	"fmt"
	"strings"
)

// statusName is the member of Proxy-Status that speaks for heed (RFC 9209 2).
const statusName = "heed"

// proxyStatus returns the member of Proxy-Status that explains ref.
func proxyStatus(ref refusal) string {
	note := ref.note
	if note == "" {
		note = ref.detail
	}
	return statusName + "; error=" + ref.token + "; details=" + sfString(note)
}

// sfString writes s as a string of structured fields (RFC 8941 3.3.3). What it
// cannot hold, octets outside printable ASCII, is percent-encoded.
func sfString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c > 0x7e:
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// foreignStatus returns the members of an origin's Proxy-Status that do not
// claim to be heed's, so that nobody else can speak in its name.
func foreignStatus(values []string) []string {
	var kept []string
	for _, member := range members(strings.Join(values, ", ")) {
		name, _, _ := strings.Cut(member, ";")
		name = strings.Trim(strings.TrimSpace(name), `"`)
		if !strings.EqualFold(name, statusName) && member != "" {
			kept = append(kept, member)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return []string{strings.Join(kept, ", ")}
}

// members parts a list at the commas outside strings. A member with an unfinished
// string is left out: readers could disagree on where it ends.
func members(list string) []string {
	var out []string
	start, quoted := 0, false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			out = append(out, strings.TrimSpace(list[start:i]))
			start = i + 1
		}
	}
	if quoted {
		return out
	}
	return append(out, strings.TrimSpace(list[start:]))
}
