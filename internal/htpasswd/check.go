package htpasswd

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"
)

// A check that succeeded is good for rememberFor; as many are remembered as
// maxPassed.
const (
	rememberFor = 5 * time.Minute
	maxPassed   = 10_000
)

// passed is the checks that succeeded, each by a keyed hash of name and password.
type passed struct {
	mu    sync.Mutex
	until map[[sha256.Size]byte]time.Time
}

func (p *passed) has(key [sha256.Size]byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.until[key])
}

func (p *passed) add(key [sha256.Size]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil || len(p.until) >= maxPassed {
		p.until = map[[sha256.Size]byte]time.Time{}
	}
	p.until[key] = time.Now().Add(rememberFor)
}

// Check reports whether password is name's. from is the client's address. retry
// is when it makes sense to ask again, after too many failures; zero otherwise.
// When ctx ends first the answer is no.
func (u *Users) Check(ctx context.Context, name, password string, from netip.Addr) (ok bool, retry time.Time) {
	if u == nil || u.file == "" || len(name) > maxName {
		return false, time.Time{}
	}
	t := u.table()
	key := u.digest(name, password)
	if t.passed.has(key) {
		return true, time.Time{}
	}
	from = network(from)
	// Many requests of a client begin at once, and one check will do. It does not
	// end with the request that began it.
	flight := u.flights.DoChan(string(key[:])+from.String(), func() (any, error) {
		return u.verify(t, key, name, password, from), nil
	})
	select {
	case r := <-flight:
		v, _ := r.Val.(verdict)
		return v.ok, v.retry
	case <-ctx.Done():
		return false, time.Time{}
	}
}

type verdict struct {
	ok    bool
	retry time.Time
}

// verify runs bcrypt, when it is the turn of the address and nothing has slowed
// it down.
func (u *Users) verify(t *table, key [sha256.Size]byte, name, password string, from netip.Addr) verdict {
	who := guess{from, name}
	if retry := u.brake.held(who); !retry.IsZero() {
		return verdict{retry: retry}
	}
	done, ok := u.brake.turn(from)
	if !ok {
		return verdict{retry: time.Now().Add(time.Second)}
	}
	defer done()
	// While this one waited the others may have used up the tries.
	if retry := u.brake.held(who); !retry.IsZero() {
		return verdict{retry: retry}
	}
	if t.passed.has(key) {
		return verdict{ok: true}
	}
	hash, known := t.hashes[name]
	if !known {
		hash = t.nobody
	}
	if u.compare(hash, []byte(password)) != nil || !known {
		u.brake.failed(who)
		return verdict{}
	}
	u.brake.succeeded(who)
	t.passed.add(key)
	return verdict{ok: true}
}

// digest is what a pair is remembered by. A name holds no NUL that could make two
// pairs one: its length goes in, too.
func (u *Users) digest(name, password string) (out [sha256.Size]byte) {
	h := hmac.New(sha256.New, u.key[:])
	_, _ = h.Write([]byte{byte(len(name))}) // never fails; at most maxName
	_, _ = h.Write([]byte(name))
	_, _ = h.Write([]byte(password))
	h.Sum(out[:0])
	return out
}

// network is what an address is slowed down as: a client of IPv6 has a /64 to
// choose addresses from.
func network(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return a
}
