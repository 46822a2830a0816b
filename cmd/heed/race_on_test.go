//go:build race

package main

// raceEnabled: the race detector multiplies memory and time.
const raceEnabled = true
