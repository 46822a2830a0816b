package policy

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeText returns body as text: without a UTF-8 byte order mark, and out of
// UTF-16 where such a mark says so. Everything else stays as it is, invalid
// UTF-8 included.
func decodeText(body []byte) string {
	text := string(body)
	switch {
	case strings.HasPrefix(text, "\xff\xfe"):
		return decodeUTF16(body[2:], binary.LittleEndian)
	case strings.HasPrefix(text, "\xfe\xff"):
		return decodeUTF16(body[2:], binary.BigEndian)
	}
	return strings.TrimPrefix(text, "\ufeff")
}

// decodeUTF16 ignores a last octet that is half a unit; a surrogate without its
// other half becomes U+FFFD.
func decodeUTF16(b []byte, order binary.ByteOrder) string {
	var text strings.Builder
	for ; len(b) >= 2; b = b[2:] {
		r := rune(order.Uint16(b))
		if utf16.IsSurrogate(r) {
			low := utf8.RuneError
			if len(b) >= 4 {
				low = rune(order.Uint16(b[2:]))
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				b = b[2:]
			}
		}
		text.WriteRune(r)
	}
	return text.String()
}

// cutLine parts text after its first line, which ends in CR, LF or CRLF.
func cutLine(text string) (line, rest string) {
	i := strings.IndexAny(text, "\r\n")
	if i < 0 {
		return text, ""
	}
	line, rest = text[:i], text[i+1:]
	if text[i] == '\r' {
		rest = strings.TrimPrefix(rest, "\n")
	}
	return line, rest
}

func trim(s string) string { return strings.Trim(s, " \t\v\f") }

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\v' || c == '\f' }
