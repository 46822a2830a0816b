package fetch

import (
	"bytes"
	"sync/atomic"

	"heed/policy"
)

// A file is one body, shared by all origins that serve it. The rules are parsed
// when they are first needed and given up when memory is short.
type file struct {
	sha256 string
	body   []byte
	parsed int64 // octets that the rules take, by estimate
	// foreign is what the body is instead of a robots.txt, "" if it may be one.
	foreign string

	robots atomic.Pointer[policy.Robots] // nil while they are not parsed
	used   atomic.Int64                  // when they were last asked for, in Unix nanoseconds

	refs int // origins that have it; guarded by memory.mu, as what follows
	warm int // index in memory.warm; -1 when it is not there
}

// What parsed rules take, beside the text: measured, and rounded up.
const (
	parsedBase = 512
	parsedLine = 128
)

func newFile(sha256 string, body []byte) *file {
	lines := int64(bytes.Count(body, []byte{'\n'}) + bytes.Count(body, []byte{'\r'}))
	return &file{
		sha256: sha256,
		body:   body,
		parsed: parsedBase + int64(len(body)) + parsedLine*lines,
		// What is parsed here is given up again: many files are kept, and few of
		// them asked for.
		foreign: policy.Parse(body).Foreign(),
		warm:    -1,
	}
}

// fileBase is what a file takes beside its body.
const fileBase = 256

func (f *file) octets() int64 { return fileBase + int64(cap(f.body)) }
