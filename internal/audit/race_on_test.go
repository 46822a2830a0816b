//go:build race

package audit

// raceEnabled: under the race detector sync.Pool drops buffers on purpose.
const raceEnabled = true
