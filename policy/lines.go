package policy

import "strings"

// lines walks through a text. A line ends in CR, LF or CRLF.
type lines struct {
	text     string
	number   int // of the current line, from 1
	from, to int // the current line without its end
	after    int // where the line after it begins
	lf, cr   int // the first of each from after on, once looked for
}

// linesFrom starts at the line that begins at offset at and has the number.
func linesFrom(text string, at, number int) lines {
	return lines{text: text, number: number - 1, after: at, lf: -1, cr: -1}
}

func (l *lines) scan() bool {
	if l.after >= len(l.text) {
		return false
	}
	l.lf, l.cr = l.ahead(l.lf, '\n'), l.ahead(l.cr, '\r')
	l.number++
	l.from, l.to = l.after, min(l.lf, l.cr)
	l.after = l.to + 1
	if l.lf == l.cr+1 {
		l.after++
	}
	return true
}

// ahead looks for c only once the place known of it has been passed, so that a
// text with one kind of line end is not searched to its end for the other again
// and again.
func (l *lines) ahead(known int, c byte) int {
	if known >= l.after {
		return known
	}
	if i := strings.IndexByte(l.text[l.after:], c); i >= 0 {
		return l.after + i
	}
	return len(l.text)
}

func lineEnd(c byte) bool { return c == '\n' || c == '\r' }

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\v' || c == '\f' }

// trim returns text[from:to] without blanks at either end, as offsets.
func trim(text string, from, to int) (int, int) {
	for from < to && blank(text[from]) {
		from++
	}
	for from < to && blank(text[to-1]) {
		to--
	}
	return from, to
}

func trimmed(s string) string {
	from, to := trim(s, 0, len(s))
	return s[from:to]
}

// lineEnds counts the lines that end in text[from:to]; one that ends in CRLF ends
// with its LF.
func lineEnds(text string, from, to int) int {
	n := strings.Count(text[from:to], "\n")
	for {
		i := strings.IndexByte(text[from:to], '\r')
		if i < 0 {
			return n
		}
		if from += i + 1; from == len(text) || text[from] != '\n' {
			n++
		}
	}
}
