package policy

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeText returns body as text: without a UTF-8 byte order mark, and out of
// UTF-16 where such a mark says so. Everything else stays as it is, invalid
// UTF-8 included.
func decodeText(body []byte) string {
	switch {
	case len(body) >= 2 && body[0] == 0xff && body[1] == 0xfe:
		return decodeUTF16(body[2:], binary.LittleEndian)
	case len(body) >= 2 && body[0] == 0xfe && body[1] == 0xff:
		return decodeUTF16(body[2:], binary.BigEndian)
	}
	return string(bytes.TrimPrefix(body, []byte("\ufeff")))
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
	return strings.Clone(text.String()) // without what it grew in vain
}
