package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Fault is one thing that is wrong with the configuration. Any field but
// Problem may be empty.
type Fault struct {
	Key     string // dotted name as far as it is known
	Value   string // as given, secrets masked; "" when it is empty, absent or of an unknown key
	Where   string // as in Loaded.Source, such as "file config.yaml:12"
	Problem string
	Allowed string
}

// Error is every fault of a configuration; it holds at least one.
type Error struct {
	Faults []Fault
}

// Error returns a line that counts the faults and one indented line for each.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("configuration: 1 fault")
	if len(e.Faults) != 1 {
		b.Reset()
		fmt.Fprintf(&b, "configuration: %d faults", len(e.Faults))
	}
	for _, f := range e.Faults {
		b.WriteString("\n  " + f.String())
	}
	return b.String()
}

// String is the fault on one line.
func (f Fault) String() string {
	var b strings.Builder
	if f.Where != "" {
		b.WriteString(printable(f.Where) + ": ")
	}
	if f.Key != "" {
		b.WriteString(printable(f.Key))
		if f.Value != "" {
			b.WriteString(" = " + printable(f.Value))
		}
		b.WriteString(": ")
	}
	b.WriteString(printable(f.Problem))
	if f.Allowed != "" {
		b.WriteString(" (allowed: " + f.Allowed + ")")
	}
	return b.String()
}

// printable keeps a stranger's text from breaking the line or the terminal.
func printable(s string) string {
	const most = 300
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
