package fetch

import (
	"errors"
	"net/http"
	"strings"

	"heed/policy"
)

// validators tell one version of a file from another (RFC 9110 8.8). The zero
// value tells nothing.
type validators struct {
	etag     string // ETag, as it was sent
	modified string // Last-Modified, as it was sent
}

// maxValidator bounds what is kept of a validator; a longer one is not used.
const maxValidator = 256

func validatorsOf(h http.Header) validators {
	v := validators{etag: h.Get("ETag"), modified: h.Get("Last-Modified")}
	if !sendable(v.etag) {
		v.etag = ""
	}
	if _, err := http.ParseTime(v.modified); err != nil || !sendable(v.modified) {
		v.modified = ""
	}
	return v
}

// sendable reports whether s may be sent back as the value of a field.
func sendable(s string) bool {
	return len(s) <= maxValidator && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

func (v validators) any() bool { return v != validators{} }

// ask makes a request conditional (RFC 9110 13.1.2, 13.1.3).
func (v validators) ask(h http.Header) {
	if v.etag != "" {
		h["If-None-Match"] = []string{v.etag}
	}
	if v.modified != "" {
		h["If-Modified-Since"] = []string{v.modified}
	}
}

// errOtherCopy says that a 304 speaks of another copy than the one asked about.
var errOtherCopy = errors.New("304 Not Modified for a copy that heed does not have")

// renew takes a 304 (RFC 9111 4.3.4). One that names another entity tag than
// the one asked about must not renew anything (4.3.3).
func (s *Store) renew(h http.Header, v validators, out *outcome) error {
	now := validatorsOf(h)
	if v.etag != "" && now.etag != "" && opaque(now.etag) != opaque(v.etag) {
		return errOtherCopy
	}
	if now.etag == "" {
		now.etag = v.etag
	}
	if now.modified == "" {
		now.modified = v.modified
	}
	out.validators = now
	out.notModified = true
	out.access.Result = policy.Successful
	return nil
}

// opaque drops the mark of a weak entity tag: If-None-Match compares weakly (RFC
// 9110 8.8.3.2).
func opaque(etag string) string { return strings.TrimPrefix(etag, "W/") }
