package policy

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// maxText is what is read of a body, so that offsets fit. It is five hundred times
// what RFC 9309 2.5 asks for.
const maxText = 1 << 28

// A source is a robots.txt as text, and the numbers of its lines.
type source struct {
	text    string
	numbers string // of the lines to which every numberStep-th octet belongs, four octets each
}

const (
	numberStep = 128
	numberSize = 4
)

// newSource reads a body of any bytes. Both parts are one piece of memory: memory
// is handed out in steps.
func newSource(body []byte) source {
	plain := inUTF8(body)
	if len(plain) > maxText {
		plain = plain[:1+bytes.LastIndexAny(plain[:maxText], "\r\n")]
	}
	end := len(plain)
	both := make([]byte, end, end+numberSize*(end/numberStep+1))
	copy(both, plain)
	s := source{text: text(both)}
	number := 1
	for at := 0; at <= end; at += numberStep {
		both = binary.LittleEndian.AppendUint32(both, uint32(number))
		number += lineEnds(s.text, at, min(at+numberStep, end))
	}
	s.numbers = text(both[end:])
	return s
}

// lineAt returns the number of the line that the octet at an offset belongs to; a
// line end belongs to its line.
func (s *source) lineAt(at int) int {
	i := at / numberStep
	known := s.numbers[i*numberSize:][:numberSize]
	return int(binary.LittleEndian.Uint32([]byte(known))) + lineEnds(s.text, i*numberStep, at)
}

// inUTF8 returns body in UTF-8: without a byte order mark, and out of UTF-16
// where such a mark says so. Everything else stays as it is, invalid UTF-8
// included.
func inUTF8(body []byte) []byte {
	switch {
	case len(body) >= 2 && body[0] == 0xff && body[1] == 0xfe:
		return decodeUTF16(body[2:], binary.LittleEndian)
	case len(body) >= 2 && body[0] == 0xfe && body[1] == 0xff:
		return decodeUTF16(body[2:], binary.BigEndian)
	}
	return bytes.TrimPrefix(body, []byte("\ufeff"))
}

// decodeUTF16 ignores a last octet that is half a unit; a surrogate without its
// other half becomes U+FFFD.
func decodeUTF16(b []byte, order binary.ByteOrder) (text []byte) {
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
		text = utf8.AppendRune(text, r)
	}
	return text
}
