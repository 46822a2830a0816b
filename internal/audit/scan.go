package audit

import (
	"bytes"
	"encoding/json"
	"errors"
)

var errNotRecord = errors.New("not a record")

// members goes through the members of a JSON object, without copying or reflection.
// It checks no more of the syntax than it needs to find them.
type members struct {
	text []byte
	at   int
	err  error
}

func membersOf(text []byte) members {
	o := members{text: text}
	o.space()
	if !o.skip('{') {
		o.err = errNotRecord
	}
	return o
}

// next returns a member's key, which is raw, and its raw value. ok is false at
// the end, and where the object is malformed; then o.err is set.
func (o *members) next() (key, value []byte, ok bool) {
	if o.err != nil {
		return nil, nil, false
	}
	o.space()
	if o.skip('}') {
		return nil, nil, false
	}
	o.skip(',')
	o.space()
	key = o.str()
	o.space()
	if key == nil || !o.skip(':') {
		o.err = errNotRecord
		return nil, nil, false
	}
	o.space()
	if value = o.value(); value == nil {
		o.err = errNotRecord
		return nil, nil, false
	}
	return key[1 : len(key)-1], value, true
}

func (o *members) space() {
	for o.at < len(o.text) && (o.text[o.at] == ' ' || o.text[o.at] == '\t' || o.text[o.at] == '\r' || o.text[o.at] == '\n') {
		o.at++
	}
}

func (o *members) skip(c byte) bool {
	if o.at < len(o.text) && o.text[o.at] == c {
		o.at++
		return true
	}
	return false
}

// str returns a string with its quotes, nil when there is none.
func (o *members) str() []byte {
	if o.at >= len(o.text) || o.text[o.at] != '"' {
		return nil
	}
	for end := o.at + 1; ; end++ {
		i := bytes.IndexByte(o.text[end:], '"')
		if i < 0 {
			return nil
		}
		end += i
		escapes := 0
		for o.text[end-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			s := o.text[o.at : end+1]
			o.at = end + 1
			return s
		}
	}
}

// value returns any value as it stands, nil when it has no end.
func (o *members) value() []byte {
	if o.at >= len(o.text) {
		return nil
	}
	switch o.text[o.at] {
	case '"':
		return o.str()
	case '{', '[':
		return o.nested()
	}
	start := o.at
	for o.at < len(o.text) && o.text[o.at] != ',' && o.text[o.at] != '}' && o.text[o.at] != ']' {
		o.at++
	}
	if o.at == len(o.text) || o.at == start {
		return nil
	}
	return bytes.TrimRight(o.text[start:o.at], " \t\r\n")
}

// nested returns an object or a list.
func (o *members) nested() []byte {
	start := o.at
	for depth := 0; o.at < len(o.text); {
		switch o.text[o.at] {
		case '"':
			if o.str() == nil {
				return nil
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		o.at++
		if depth == 0 {
			return o.text[start:o.at]
		}
	}
	return nil
}

// text is what a raw JSON string says; nil when value is none.
func text(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		return inner
	}
	return []byte(s)
}

// number is what a raw JSON number says, if it is a whole one that is not
// negative; else 0.
func number(value []byte) int {
	n := 0
	for _, c := range value {
		if c < '0' || c > '9' || n > 1<<40 {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}
