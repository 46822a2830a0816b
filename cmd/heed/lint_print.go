package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"heed/policy"
)

const (
	lintWidth = 80 // columns
	lintFew   = 5  // findings of one code that are printed unless all are asked for
)

// print writes findings for people: place, severity, code; message, the line
// with a mark under the column, and the remedy.
func (l *linter) print(out io.Writer, name string, lines []string, findings []policy.Finding) error {
	counts := map[policy.Severity]int{}
	printed := map[string]int{}
	for _, f := range findings {
		counts[f.Severity]++
		if printed[f.Code]++; printed[f.Code] > lintFew && !l.all {
			continue
		}
		fmt.Fprintf(out, "%s:%d:%d: %s: %s\n", name, f.Line, f.Column, f.Severity, f.Code)
		wrap(out, f.Message, "    ", "    ")
		excerpt(out, lines, f)
		wrap(out, f.Remedy, "    -> ", "       ")
	}
	for _, c := range policy.LintCodes() {
		if more := printed[c.Code] - lintFew; more > 0 && !l.all {
			fmt.Fprintf(out, "%d more of %s; --all prints them\n", more, c.Code)
		}
	}
	_, err := fmt.Fprintf(out, "%s: %s, %s, %s\n", name,
		plural(counts[policy.Fault], "error"), plural(counts[policy.Warning], "warning"), plural(counts[policy.Note], "note"))
	return err
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// wrap prints text within the width, the lines after the first behind another
// indent. A word that is longer stays whole.
func wrap(out io.Writer, text, indent, next string) {
	line := indent
	empty := true
	for word := range strings.FieldsSeq(text) {
		word = shown(word)
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > lintWidth {
			fmt.Fprintln(out, line)
			line, empty = next, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	fmt.Fprintln(out, line)
}

// excerpt prints the part of the line that a finding is about, and a mark under
// its column. Findings on a file as a whole have none.
func excerpt(out io.Writer, lines []string, f policy.Finding) {
	if f.Line > len(lines) || f.Code == "not-robots" || f.Code == "media-type" || f.Code == "too-large" || f.Code == "utf16" {
		return
	}
	line, column := lines[f.Line-1], f.Column-1
	const room, before = lintWidth - 7, 30
	left, right := "", ""
	if column > room-8 {
		cut := column - before
		for cut < len(line) && !utf8.RuneStart(line[cut]) {
			cut++
		}
		line, column, left = line[cut:], column-cut, "…"
	}
	text := []rune(shown(strings.ToValidUTF8(line, "?")))
	if len(text) > room-2 {
		text, right = text[:room-2], "…"
	}
	mark := utf8.RuneCountInString(shown(strings.ToValidUTF8(line[:column], "?")))
	fmt.Fprintf(out, "    | %s%s%s\n", left, string(text), right)
	fmt.Fprintf(out, "    | %s^\n", strings.Repeat(" ", mark+utf8.RuneCountInString(left)))
}

// shown replaces what does not show, or steers a terminal.
func shown(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < ' ', 0x7f <= r && r < 0xa0, 0x2000 <= r && r <= 0x200f, 0x2028 <= r && r <= 0x202f, 0x205f <= r && r <= 0x206f, r == 0xfeff:
			return '?'
		}
		return r
	}, s)
}

// finding is the JSON form of a finding.
type finding struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Remedy   string `json:"remedy"`
}

func newFinding(name string, f policy.Finding) finding {
	return finding{name, f.Line, f.Column, f.Severity.String(), f.Code, f.Message, f.Remedy}
}
