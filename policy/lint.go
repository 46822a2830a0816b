package policy

import (
	"cmp"
	"slices"
	"strings"
)

// Severity is how much a finding matters.
type Severity uint8

// The severities. A Note is worth knowing; a Warning is probably not what was
// meant, or read differently by different crawlers; a Fault, which shows as
// "error", has no effect at all, or not the one that was meant.
const (
	Note Severity = iota
	Warning
	Fault
)

// String returns "note", "warning" or "error".
func (s Severity) String() string {
	switch s {
	case Fault:
		return "error"
	case Warning:
		return "warning"
	default:
		return "note"
	}
}

// A Finding is something in a robots.txt that is ignored, wrong or surprising.
type Finding struct {
	Line     int // 1-based
	Column   int // 1-based, in octets of the line as UTF-8, without a byte order mark
	Severity Severity
	Code     string // stable; see LintCodes
	Message  string // what is wrong
	Remedy   string // what to do about it
}

// A LintCode is a kind of finding.
type LintCode struct {
	Code     string
	Severity Severity
	Title    string
}

// LintCodes returns all kinds of findings, the worst first. Their meaning never
// changes.
func LintCodes() []LintCode { return slices.Clone(lintCodes) }

// Lint reports what in a robots.txt is ignored, wrong or surprising under RFC
// 9309, in the order of its lines. It takes any bytes, in time proportional to
// their number. Where the body is no robots.txt at all, that is all it reports.
func Lint(body []byte) []Finding {
	l := &linter{body: body, seen: map[string]bool{}, useless: map[int]*useless{}}
	l.read.init(heed, newSource(body))
	if l.text = l.read.text; l.whole() {
		for lines := linesFrom(l.text, 0, 1); lines.scan(); {
			l.line(&lines)
		}
		l.groups()
	}
	slices.SortStableFunc(l.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(l.findings) // a rule may be in several groups
}

// LintServed is [Lint] of a body that a server gave the media type of, which is
// "" where it gave none or text/plain (RFC 9309 2.3).
func LintServed(body []byte, mediaType string) []Finding {
	findings := Lint(body)
	if mediaType == "" {
		return findings
	}
	return slices.Insert(findings, 0, newFinding(1, 1, "media-type",
		"the server calls the file "+quote(mediaType)+"; a crawler may take it for something else than a robots.txt",
		"serve it as text/plain; charset=utf-8"))
}

// A linter collects findings.
type linter struct {
	body     []byte
	text     string
	read     reading
	agents   bool            // an agent line has been seen
	seen     map[string]bool // what is reported once
	managed  [][2]int        // first and last lines of blocks that a CDN manages
	useless  map[int]*useless
	findings []Finding
}

// useless counts in how many groups a rule stands and in how many it changes
// nothing.
type useless struct {
	groups, in int
	finding    Finding
}

// report adds a finding. The severity is the code's.
func (l *linter) report(line, column int, code, message, remedy string) {
	l.findings = append(l.findings, newFinding(line, column, code, message, remedy))
}

func newFinding(line, column int, code, message, remedy string) Finding {
	i := slices.IndexFunc(lintCodes, func(c LintCode) bool { return c.Code == code })
	return Finding{line, column, lintCodes[i].Severity, code, message, remedy}
}

// once reports the first finding of a kind.
func (l *linter) once(line, column int, code, message, remedy string) {
	if key := code + " " + message; !l.seen[key] {
		l.seen[key] = true
		l.report(line, column, code, message, remedy)
	}
}

// quote shows a piece of a file in a message, cut where it is long.
func quote(s string) string {
	const most = 40
	cut := false
	if len(s) > most {
		s, cut = strings.ToValidUTF8(s[:most], ""), true
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if cut {
		s += "…"
	}
	return `"` + s + `"`
}
