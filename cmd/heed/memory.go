package main

import (
	"log/slog"
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// limitMemory lets the garbage collector know how much memory the control group of
// this process allows, unless GOMEMLIMIT says something else: it works harder near
// that bound instead of being killed at it. The rest is for what Go does not count.
func limitMemory(log *slog.Logger) {
	limit, err := memlimit.Set(memlimit.WithProvider(memlimit.FromCgroup), memlimit.WithRatio(memoryShare))
	switch {
	case err != nil:
		log.Debug("no memory limit is known", "error", err)
	case limit < math.MaxInt64:
		log.Info("memory is limited", "bytes", limit)
	}
}

const memoryShare = 0.9
