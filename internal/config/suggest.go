package config

import "strings"

// didYouMean ends a complaint about name with the nearest of names, or with
// nothing when none is near. sep is what stands between the parts of a name: a
// name that is the last part of a known one is near too.
func didYouMean(name string, names []string, sep string) string {
	best, bestEdits := "", max(1, min(3, len(name)/4))+1
	for _, n := range names {
		// Lengths alone settle most of it, and bound the work on a long name.
		if len(n)-len(name) >= bestEdits || len(name)-len(n) >= bestEdits {
			continue
		}
		if e := edits(name, n); e < bestEdits {
			best, bestEdits = n, e
		}
	}
	for _, n := range names {
		if best == "" && strings.HasSuffix(n, sep+name) {
			best = n
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// edits counts the insertions, deletions, changes and swaps of neighbours that
// turn a into b (optimal string alignment).
func edits(a, b string) int {
	var before []int
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
