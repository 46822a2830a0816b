// Package bodies keeps robots.txt files, each once by its SHA-256, in a folder
// that outlives them: what a decision was made on can be read years later.
//
// The file of a body is sha256[:2]/sha256.txt. It is written to a temporary name,
// synced and renamed, and what is read is verified. Beside it,
// sha256[:2]/sha256.jsonl says which origins were seen to serve it. Both are for
// the owner alone (RFC 9309 2.1 makes robots.txt public, but not who asked for it).
package bodies

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ErrNotKept is what Read returns for a body that the folder does not have.
var ErrNotKept = errors.New("the body is not kept")

// A Sighting is that an origin served a body.
type Sighting struct {
	Origin string    `json:"origin"`
	URL    string    `json:"url"`
	First  time.Time `json:"first_seen"`
	Last   time.Time `json:"last_seen"`
}

// A Folder is open for keeping. It is safe for concurrent use.
type Folder struct {
	dir     string
	failure atomic.Pointer[error] // of the last Keep

	mu   sync.Mutex
	told map[string]time.Time // when a sighting was last written down, by origin and body
}

// A sighting is written down again after a day, and after that many others.
const (
	tellAgain = 24 * time.Hour
	maxTold   = 100_000
)

// Open makes the folder if it is not there (0700).
func Open(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return nil, err
	}
	return &Folder{dir: dir, told: map[string]time.Time{}}, nil
}

// Keep keeps a body whose SHA-256 in hex is sum, and that the origin of a URL was
// seen to serve it. It returns when the disk has the body.
func (f *Folder) Keep(sum string, body []byte, origin, url string, at time.Time) (err error) {
	defer func() {
		if err == nil {
			f.failure.Store(nil)
			return
		}
		err = fmt.Errorf("keep robots.txt %s: %w", sum, err)
		f.failure.Store(&err)
	}()
	if got := sha256.Sum256(body); hex.EncodeToString(got[:]) != sum {
		return errors.New("the body has another SHA-256")
	}
	name := path(f.dir, sum)
	if kept, err := os.ReadFile(name); err != nil || !bytes.Equal(kept, body) {
		if err := f.write(name, body); err != nil {
			return err
		}
	}
	return f.seen(sum, Sighting{origin, url, at.UTC(), at.UTC()})
}

// Healthy returns why the last body could not be kept, or nil.
func (f *Folder) Healthy() error {
	if err := f.failure.Load(); err != nil {
		return *err
	}
	return nil
}

func (f *Folder) write(name string, body []byte) error {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".keep-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(body)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return syncDir(dir)
}

// syncDir makes a rename last. Where folders cannot be synced, it is not needed.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}

// seen appends a sighting.
func (f *Folder) seen(sum string, s Sighting) error {
	key := s.Origin + " " + sum
	f.mu.Lock()
	defer f.mu.Unlock()
	if last, ok := f.told[key]; ok && s.Last.Sub(last) < tellAgain {
		return nil
	}
	out, err := os.OpenFile(index(f.dir, sum), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	line, err := json.Marshal(s)
	if err == nil {
		_, err = out.Write(append(line, '\n'))
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	if len(f.told) >= maxTold {
		clear(f.told)
	}
	f.told[key] = s.Last
	return nil
}

// Read returns the body with a SHA-256 out of a folder, verified. The error is
// ErrNotKept when it is not there.
func Read(dir, sum string) ([]byte, error) {
	if len(sum) != 2*sha256.Size || strings.Trim(sum, "0123456789abcdef") != "" {
		return nil, fmt.Errorf("%.80q is not a SHA-256 in hex", sum)
	}
	body, err := os.ReadFile(path(dir, sum))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNotKept
	case err != nil:
		return nil, err
	}
	if got := sha256.Sum256(body); hex.EncodeToString(got[:]) != sum {
		return nil, fmt.Errorf("%s is not what was kept: its SHA-256 is %x", path(dir, sum), got)
	}
	return body, nil
}

// Seen returns who was seen to serve a body, the first to do so first. A line of
// the index that cannot be read, as a crash may leave one, is passed over.
func Seen(dir, sum string) ([]Sighting, error) {
	data, err := os.ReadFile(index(dir, sum))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Sighting
	at := map[string]int{}
	for line := range bytes.Lines(data) {
		var s Sighting
		if json.Unmarshal(line, &s) != nil {
			continue
		}
		i, known := at[s.Origin]
		if !known {
			at[s.Origin] = len(out)
			out = append(out, s)
			continue
		}
		if s.First.Before(out[i].First) {
			out[i].First = s.First
		}
		if s.Last.After(out[i].Last) {
			out[i].Last = s.Last
		}
	}
	return out, nil
}

func path(dir, sum string) string { return filepath.Join(dir, sum[:2], sum+".txt") }

func index(dir, sum string) string { return filepath.Join(dir, sum[:2], sum+".jsonl") }
