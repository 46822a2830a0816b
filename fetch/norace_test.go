//go:build !race

package fetch

const raceDetector = false
