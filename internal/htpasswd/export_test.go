package htpasswd

import "sync/atomic"

// Counted has every run of bcrypt counted. It must be called before u is used.
func Counted(u *Users) *atomic.Int64 {
	ran := new(atomic.Int64)
	compare := u.compare
	u.compare = func(hash, password []byte) error {
		ran.Add(1)
		return compare(hash, password)
	}
	return ran
}
