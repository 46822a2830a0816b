// Package htpasswd says who a client is, by a file of names and bcrypt hashes as
// Apache's htpasswd -B writes it (RFC 7617 gives the pair its form on the wire).
//
// The file is read again when it changes. A check that succeeded is remembered
// for a while, by a keyed hash and never the password itself, so that bcrypt does
// not run for each request. Who guesses is slowed down: each name from each
// address by itself, and each address has one check under way at a time, so that
// others do not wait for a guesser. Whether a name exists makes no difference to
// any of that, nor to the time that an answer takes.
//
// The package does not authorise, and speaks no HTTP.
package htpasswd

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/sync/singleflight"
)

// Bounds of what is taken.
const (
	maxFile = 16 << 20
	maxCost = 17 // htpasswd's own; about ten seconds
	maxName = 255
)

// lookEvery is how long a change of the file can go unnoticed.
const lookEvery = time.Second

// Users are the users of a file. Make one with [Open]; the zero value and nil
// know nobody. It is safe for concurrent use.
type Users struct {
	file     string
	onReload func(error)
	compare  func(hash, password []byte) error // bcrypt

	key     [32]byte              // of remembered checks
	current atomic.Pointer[table] // never nil after Open
	flights singleflight.Group
	brake   brake

	mu     sync.Mutex // for one look at a time
	looked time.Time
	seen   os.FileInfo
}

// table is what one reading of the file gave. It is never changed, but for what
// is remembered of it.
type table struct {
	hashes map[string][]byte
	nobody []byte // the hash that a name which does not exist is compared with
	passed passed
}

// Open reads the file. onReload is told of each later reading, with the error
// that left the users as they were, or nil; it may be nil itself.
func Open(file string, onReload func(error)) (*Users, error) {
	u := &Users{file: file, onReload: onReload, compare: bcrypt.CompareHashAndPassword}
	_, _ = rand.Read(u.key[:]) // never fails
	if u.onReload == nil {
		u.onReload = func(error) {}
	}
	u.looked = time.Now()
	t, err := u.read()
	if err != nil {
		return nil, err
	}
	u.current.Store(t)
	return u, nil
}

// Has reports whether there is a user of that name.
func (u *Users) Has(name string) bool {
	if u == nil || u.file == "" {
		return false
	}
	_, ok := u.table().hashes[name]
	return ok
}

// table returns the users, from the file as it is now or was a moment ago.
func (u *Users) table() *table {
	// Whoever finds somebody looking goes on with what is known.
	if u.mu.TryLock() {
		defer u.mu.Unlock()
		if time.Since(u.looked) >= lookEvery {
			u.looked = time.Now()
			u.look()
		}
	}
	return u.current.Load()
}

// look reads the file again when it has changed.
func (u *Users) look() {
	info, err := os.Stat(u.file)
	if err == nil && u.seen != nil && os.SameFile(info, u.seen) && info.ModTime().Equal(u.seen.ModTime()) && info.Size() == u.seen.Size() {
		return
	}
	if err != nil && u.seen == nil {
		return // told of already
	}
	t, err := u.read()
	if err == nil {
		u.current.Store(t)
	}
	u.onReload(err)
}

// read reads the file, and remembers which state of it that was.
func (u *Users) read() (*table, error) {
	u.seen = nil
	f, err := os.Open(u.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if u.seen, err = f.Stat(); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", u.file, maxFile)
	}
	t, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u.file, err)
	}
	return t, nil
}

// parse reads lines of name:hash. Empty lines and those that begin with # are
// passed over.
func parse(data []byte) (*table, error) {
	t := &table{hashes: map[string][]byte{}}
	lines := bufio.NewScanner(bytes.NewReader(data))
	cost := bcrypt.MinCost
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimRight(lines.Bytes(), "\r \t")
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		name, hash, ok := bytes.Cut(line, []byte(":"))
		c, err := bcrypt.Cost(hash)
		switch {
		case !ok || len(name) == 0:
			return nil, fmt.Errorf("line %d: not name:hash", n)
		case len(name) > maxName:
			return nil, fmt.Errorf("line %d: a name longer than %d octets", n, maxName)
		case err != nil:
			return nil, fmt.Errorf("line %d: %.50q has no bcrypt hash (htpasswd -B makes one)", n, name)
		case c > maxCost:
			return nil, fmt.Errorf("line %d: cost %d of %.50q is more than %d", n, c, name, maxCost)
		case t.hashes[string(name)] != nil:
			return nil, fmt.Errorf("line %d: %.50q is there twice", n, name)
		}
		t.hashes[string(name)] = bytes.Clone(hash)
		cost = max(cost, c)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(t.hashes) == 0 {
		return nil, errors.New("no users in it")
	}
	nobody, err := bcrypt.GenerateFromPassword([]byte(rand.Text()), cost)
	if err != nil {
		return nil, err
	}
	t.nobody = nobody
	return t, nil
}
