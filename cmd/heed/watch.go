package main

import (
	"crypto/sha256"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settleTime is how long a folder must have been quiet before a file of it is read
// again: not everybody replaces a file in one step.
const settleTime = 200 * time.Millisecond

// watchFile returns a channel that is sent to some time after the file may have
// changed, until stop is called. It looks at the folder, not at the file: editors
// put another file in its place, and Kubernetes another folder behind a link. When
// that cannot be watched, or file is "", the channel stays silent.
func watchFile(file string, log *slog.Logger) (changed <-chan struct{}, stop func()) {
	if file == "" {
		return nil, func() {}
	}
	w, err := fsnotify.NewWatcher()
	if err == nil {
		if err = w.Add(filepath.Dir(file)); err != nil {
			_ = w.Close()
		}
	}
	if err != nil {
		log.Warn("configuration file is not watched; SIGHUP reloads it all the same", "file", file, "error", err)
		return nil, func() {}
	}
	out, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(done)
		forward(w, filepath.Base(file), out)
	}()
	return out, func() {
		_ = w.Close()
		<-done
	}
}

// forward sends on out when w has told of something and been quiet for a while.
func forward(w *fsnotify.Watcher, name string, out chan<- struct{}) {
	quiet := time.NewTimer(0)
	<-quiet.C
	defer quiet.Stop()
	for {
		select {
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			// Other files may be written all the time, such as the audit log.
			if filepath.Base(e.Name) != name && !e.Has(fsnotify.Create) && !e.Has(fsnotify.Rename) && !e.Has(fsnotify.Remove) {
				continue
			}
			quiet.Reset(settleTime)
		case _, ok := <-w.Errors: // too many events came at once, for one
			if !ok {
				return
			}
			quiet.Reset(settleTime)
		case <-quiet.C:
			select {
			case out <- struct{}{}:
			default: // it has been told and has not looked yet
			}
		}
	}
}

// contentOf tells one content of a file from another. An empty or missing file is
// nil: it is being written, or replaced.
func contentOf(file string) *[sha256.Size]byte {
	data, err := os.ReadFile(file)
	if err != nil || len(data) == 0 {
		return nil
	}
	sum := sha256.Sum256(data)
	return &sum
}
