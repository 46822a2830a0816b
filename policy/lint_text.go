package policy

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// leastLimit is what RFC 9309 2.5 makes every crawler read; Google reads no more.
const leastLimit = 500 << 10

// whole looks at the text as a whole, and returns false when its lines are not
// worth a look.
func (l *linter) whole() bool {
	switch {
	case bytes.HasPrefix(l.body, []byte("\xff\xfe")), bytes.HasPrefix(l.body, []byte("\xfe\xff")):
		l.report(1, 1, "utf16", "the file is UTF-16; many crawlers read nothing of it", "save it as UTF-8 without a byte order mark")
	case bytes.HasPrefix(l.body, []byte("\ufeff")):
		l.report(1, 1, "bom", "the file starts with a byte order mark; some crawlers do not know the first line for it", "save it as UTF-8 without a byte order mark")
	}
	if k := l.read.foreign(); k != proper {
		l.report(1, 1, "not-robots", "this is "+k.String()+", not a robots.txt: no rule is read from it",
			"serve the robots.txt as text/plain, or answer 404 where there is none")
		return false
	}
	if len(l.body) > leastLimit {
		l.tooLarge()
	}
	return true
}

func (l *linter) tooLarge() {
	cut := strings.LastIndexAny(l.text[:min(leastLimit, len(l.text))], "\r\n") + 1
	line, rules, first := 0, 0, 0
	for s := linesFrom(l.text, 0, 1); s.scan(); {
		if line = s.number; s.from < cut {
			continue
		}
		if first == 0 {
			first = line
		}
		var r record
		if readRecord(&r, l.text, s.from, s.to); r.key != otherKey {
			rules++
		}
	}
	l.report(max(first, 1), 1, "too-large",
		fmt.Sprintf("the file has %d octets; crawlers may stop after 500 KiB, and lose the %d lines from here on, %d of them rules or User-agent lines", len(l.body), line-first+1, rules),
		"join rules by their common path, and drop those without effect")
}

// octets looks at a line as octets.
func (l *linter) octets(s *lines) {
	line := l.text[s.from:s.to]
	if i := strings.IndexByte(line, 0); i >= 0 {
		l.once(s.number, i+1, "nul", "a NUL octet; some crawlers end the line or the file there", "remove it; it often comes of a wrong encoding")
	}
	if len(line) > googleLine {
		l.report(s.number, googleLine+1, "line-too-long", fmt.Sprintf("the line has %d octets; Google reads 16,663 of it", len(line)), "split it, or shorten the path with a star")
	}
	if i := invalidUTF8(line); i >= 0 {
		l.report(s.number, i+1, "invalid-utf8", "an octet that is not UTF-8; in a path it is compared as its escape", "save the file as UTF-8, or write the octet as its escape")
	}
	i := strings.IndexByte(line, '#')
	if i < 0 {
		i = len(line)
	}
	if at := strings.IndexFunc(line[:i], invisible); at >= 0 {
		r, _ := utf8.DecodeRuneInString(line[at:])
		l.report(s.number, at+1, "invisible-character", fmt.Sprintf("the character U+%04X, which cannot be seen, is part of the line", r), "delete the line and type it anew")
	}
}

func invalidUTF8(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd") {
			return i
		}
	}
	return -1
}

// invisible reports whether r shows as nothing or as a blank and is neither to
// the parser.
func invisible(r rune) bool {
	switch {
	case r == 0xa0, r == 0xad, r == 0x3000, r == 0xfeff, r == 0x180e:
		return true
	case 0x2000 <= r && r <= 0x200f, 0x2028 <= r && r <= 0x202f, 0x205f <= r && r <= 0x206f:
		return true
	}
	return false
}
