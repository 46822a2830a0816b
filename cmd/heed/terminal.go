package main

import (
	"io"
	"os"

	xterm "golang.org/x/term"
)

// onTerminal reports whether a person reads what is written to w, and how wide the
// lines may be.
func onTerminal(w io.Writer) (columns int, ok bool) {
	if o, wrapped := w.(output); wrapped {
		w = o.Writer
	}
	f, isFile := w.(*os.File)
	if !isFile || !xterm.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	if columns, _, err := xterm.GetSize(int(f.Fd())); err == nil && columns > 0 {
		return columns, true
	}
	return defaultColumns, true
}

// defaultColumns is what tables fit into where nobody says how wide a line may be.
const defaultColumns = 80

// shorten cuts the middle out of s where it is wider than n.
func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	head := (n - 1) / 2
	return string(r[:head]) + "…" + string(r[len(r)-(n-1-head):])
}
