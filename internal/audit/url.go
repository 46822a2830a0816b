package audit

import "strings"

// Values of Options.Query: what becomes of the query of a URL. With redact and
// drop the same holds for a raw fragment, which only a malformed request has.
const (
	QueryKeep   = "keep"   // as sent
	QueryRedact = "redact" // keys stay, values become REDACTED; so does what has no key
	QueryDrop   = "drop"   // removed, the question mark too
)

const redacted = "REDACTED"

// cleanURL returns u without user information and with its query as query says.
// u may be malformed, and need not be absolute.
func cleanURL(u, query string) string { return cleanQuery(withoutUserinfo(u), query) }

func cleanQuery(u, query string) string {
	i := strings.IndexAny(u, "?#")
	if i < 0 || query == QueryKeep || query == "" {
		return u
	}
	if query == QueryDrop {
		return u[:i]
	}
	var b strings.Builder
	b.Grow(len(u) + len(redacted))
	b.WriteString(u[:i+1])
	for n, pair := range strings.Split(u[i+1:], "&") {
		if n > 0 {
			b.WriteByte('&')
		}
		key, _, ok := strings.Cut(pair, "=")
		if ok {
			b.WriteString(key)
			b.WriteByte('=')
		}
		if pair != "" { // a lone word may be a secret as well as a key
			b.WriteString(redacted)
		}
	}
	return b.String()
}

// withoutUserinfo removes user information. Browsers and libraries differ on
// what a malformed authority means, so this errs on the side of removing.
func withoutUserinfo(u string) string {
	if strings.IndexByte(u, '@') < 0 {
		return u
	}
	start := authorityStart(u)
	if start < 0 {
		return u
	}
	end := len(u)
	if i := strings.IndexAny(u[start:], `/\?#`); i >= 0 {
		end = start + i
	}
	at := strings.LastIndexByte(u[start:end], '@')
	if at < 0 && !hostAndPort(u[start:end]) { // "u:p/w@host": a password with an unescaped slash
		at = strings.LastIndexByte(u[start:], '@')
	}
	if at < 0 {
		return u
	}
	return u[:start] + u[start+at+1:]
}

// authorityStart returns where the authority of u may begin: after the slashes
// that follow a scheme, or at once where there are none. It is -1 for a path.
func authorityStart(u string) int {
	i := strings.IndexAny(u, `/\?#`)
	if i < 0 || i > 0 && u[i-1] != ':' {
		return 0
	}
	slashes := len(u[i:]) - len(strings.TrimLeft(u[i:], `/\`))
	if i == 0 && slashes < 2 {
		return -1
	}
	return i + slashes
}

// hostAndPort reports whether what looks like the port of an authority is one.
func hostAndPort(authority string) bool {
	_, port, _ := strings.Cut(authority[strings.LastIndexByte(authority, ']')+1:], ":")
	return strings.Trim(port, "0123456789") == ""
}

// cleanText treats the URLs that an error's text may quote as cleanURL does:
// url itself, in whole or its query alone, and whatever holds "://".
func cleanText(text, url, query string) string {
	if text == "" {
		return ""
	}
	if clean := cleanURL(url, query); clean != url {
		text = strings.ReplaceAll(text, url, clean)
	}
	if i := strings.IndexAny(url, "?#"); i >= 0 && i+1 < len(url) {
		text = strings.ReplaceAll(text, url[i:], cleanQuery(url[i:], query))
	}
	var b strings.Builder
	for {
		i := strings.Index(text, "://")
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		start, end := i, len(text)
		for start > 0 && 'a' <= text[start-1]|0x20 && text[start-1]|0x20 <= 'z' {
			start--
		}
		if j := strings.IndexAny(text[i:], " \t\r\n\"'`<>"); j >= 0 {
			end = i + j
		}
		b.WriteString(text[:start])
		b.WriteString(cleanURL(text[start:end], query))
		text = text[end:]
	}
}
