package policy

import "strings"

const unreservedOctets = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

var (
	// unreserved is RFC 3986 2.3.
	unreserved = octetSet(unreservedOctets)
	// standing holds the raw octets that are their own canonical form: what
	// RFC 3986 3.3 and 3.4 let stand in a path or query, which brackets may not,
	// less the two that are special to robots.txt.
	standing = octetSet(unreservedOctets + "/?:@!&'()+,;=")
)

func octetSet(members string) (set [256]bool) {
	for i := range len(members) {
		set[members[i]] = true
	}
	return set
}

// canonical returns the form of a path or query in which two spellings of the
// same resource are equal (RFC 9309 2.2.2, RFC 3986 6.2.2): escapes of
// unreserved octets are decoded, all others in upper case, and octets that have
// no place in a URL are escaped, as is a "%" that begins no escape. A literal
// "*" or "$" becomes its escape, so that it equals the one a rule is told to
// write (RFC 9309 2.2.3); in a pattern "*" stays the wildcard.
func canonical(s string, inPattern bool) string {
	n := 0
	for n < len(s) && (standing[s[n]] || inPattern && s[n] == '*') {
		n++
	}
	if n == len(s) {
		return s
	}
	out := append(make([]byte, 0, len(s)+16), s[:n]...)
	for i := n; i < len(s); {
		c, escaped := unescape(s[i:])
		switch {
		case escaped && !unreserved[c]:
			out = appendEscape(out, c)
		case escaped || standing[c] || inPattern && c == '*':
			out = append(out, c)
		default:
			out = appendEscape(out, c)
		}
		if escaped {
			i += len("%41")
		} else {
			i++
		}
	}
	return string(out)
}

// unescape returns the first octet of s, or the octet that the escape at its
// start stands for.
func unescape(s string) (c byte, escaped bool) {
	if len(s) < 3 || s[0] != '%' {
		return s[0], false
	}
	high, low := unhex(s[1]), unhex(s[2])
	if high < 0 || low < 0 {
		return s[0], false
	}
	return byte(high<<4 | low), true
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func appendEscape(out []byte, c byte) []byte {
	const hex = "0123456789ABCDEF"
	return append(out, '%', hex[c>>4], hex[c&0xf])
}

var queryEscapes = strings.NewReplacer("%3A", ":", "%2F", "/")

// canonicalQuery takes the canonical form one step further for text that lies
// in a query, where ":" and "/" have no meaning of their own: raw and escaped
// are the same (RFC 9309 2.2.2, Figure 4).
func canonicalQuery(canonical string) string {
	if !strings.Contains(canonical, "%3A") && !strings.Contains(canonical, "%2F") {
		return canonical
	}
	return queryEscapes.Replace(canonical)
}

// removeDotSegments is RFC 3986 5.2.4 for a path that starts with "/". Unlike
// path.Clean it leaves empty segments alone.
func removeDotSegments(path string) string {
	segments := strings.Split(path[1:], "/")
	kept := segments[:0]
	for i, segment := range segments {
		if segment != "." && segment != ".." {
			kept = append(kept, segment)
			continue
		}
		if segment == ".." && len(kept) > 0 {
			kept = kept[:len(kept)-1]
		}
		if i == len(segments)-1 {
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}
