package main

import "testing"

// Memory is given back once after work, not while there is any, and not again for
// nothing.
func TestTrimmer(t *testing.T) {
	var trim trimmer
	allocated := uint64(0)
	for i, tc := range []struct {
		more uint64
		want bool
	}{
		{1000, false},           // nothing has happened yet
		{20 << 20, false},       // work
		{30 << 20, false},       // more of it
		{1000, true},            // it has ceased
		{1000, false},           // and still has
		{trimQuiet - 1, false},  // a little
		{9 << 20, false},        // work
		{trimQuiet / 2, true},   // which was worth it
		{trimWorth / 2, false},  // a little work
		{trimQuiet / 2, false},  // which was not
		{trimWorth / 2, false},  // a little more
		{trimQuiet / 10, true},  // both together were
		{trimQuiet / 10, false}, // quiet
	} {
		allocated += tc.more
		if got := trim.due(allocated); got != tc.want {
			t.Errorf("step %d: %v, want %v", i, got, tc.want)
		}
	}
}
