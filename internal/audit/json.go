package audit

import (
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendKey appends a key that needs no escaping, after a comma where the
// object has a member already.
func appendKey(dst []byte, key string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, key...)
	return append(dst, '"', ':')
}

// appendString appends s as a JSON string (RFC 8259 7). An octet that is not
// UTF-8 becomes U+FFFD, as encoding/json has it. Whatever does not print is
// escaped: what a client sends must not steer the terminal that shows the log,
// nor end a line for a reader that knows other line ends than LF.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	plain := 0
	for plain < len(s) && asItself[s[plain]] {
		plain++
	}
	dst = append(dst, s[:plain]...)
	if plain < len(s) {
		dst = appendRest(dst, s[plain:])
	}
	return append(dst, '"')
}

// asItself are the octets that need no look: most of what is logged is made of
// nothing else.
var asItself = func() (plain [256]bool) {
	for c := range rune(utf8.RuneSelf) {
		plain[c] = printsAsItself(c, 1)
	}
	return plain
}()

func appendRest(dst []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		if printsAsItself(r, size) {
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, r)
		i += size
		start = i
	}
	return append(dst, s[start:]...)
}

func printsAsItself(r rune, size int) bool {
	switch {
	case r < utf8.RuneSelf:
		return ' ' <= r && r < 0x7f && r != '"' && r != '\\'
	case r == utf8.RuneError:
		return size > 1
	default:
		return unicode.IsPrint(r)
	}
}

func appendEscape(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		return appendUnit(appendUnit(dst, high), low)
	}
	return appendUnit(dst, r)
}

func appendUnit(dst []byte, u rune) []byte {
	return append(dst, '\\', 'u',
		hexDigits[u>>12&0xf], hexDigits[u>>8&0xf], hexDigits[u>>4&0xf], hexDigits[u&0xf])
}
