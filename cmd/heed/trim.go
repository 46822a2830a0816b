package main

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A sidecar is idle for most of its life, and what a burst of work has left behind
// would stay resident until the next one: the collector runs when memory is asked
// for. So it is run, and what is free given back, once each time that work has ceased.
const (
	trimEvery = 5 * time.Second
	trimQuiet = 1 << 20 // octets allocated in that time are no work
	trimWorth = 8 << 20 // octets allocated since the last time make it worth while
)

// trimmer knows when work has ceased. The zero value is ready.
type trimmer struct{ last, trimmed uint64 }

// due reports whether memory is to be given back, after allocated octets in all.
func (t *trimmer) due(allocated uint64) bool {
	quiet := allocated-t.last < trimQuiet
	t.last = allocated
	if !quiet || allocated-t.trimmed < trimWorth {
		return false
	}
	t.trimmed = allocated
	return true
}

// trimWhenQuiet gives memory back, what the start has used first, until stop is
// called.
func trimWhenQuiet() (stop func()) {
	tick, end, done := time.NewTicker(trimEvery), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		debug.FreeOSMemory()
		var t trimmer
		sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
		for {
			select {
			case <-end:
				return
			case <-tick.C:
			}
			if metrics.Read(sample); t.due(sample[0].Value.Uint64()) {
				debug.FreeOSMemory()
			}
		}
	}()
	return func() {
		tick.Stop()
		close(end)
		<-done
	}
}
