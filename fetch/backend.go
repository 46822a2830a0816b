package fetch

import (
	"context"
	"errors"
	"iter"
	"time"
)

// ErrNotStored is what a [Backend] returns for what it does not have, or has in
// a format it does not know.
var ErrNotStored = errors.New("not stored")

// A Backend keeps robots.txt files where they outlive the process: a small
// [Entry] for each origin, and each body once, however many origins serve it.
// Its methods are called from many goroutines at once and end soon after ctx.
// Any error but [ErrNotStored] means that the backend does not work; the Store
// then does without it for a while.
type Backend interface {
	// Load returns the entry of an origin.
	Load(ctx context.Context, origin string) (Entry, error)

	// Body returns a body by its SHA-256, in lower-case hex.
	Body(ctx context.Context, sha256 string) ([]byte, error)

	// Save keeps e, and body when e.SHA256 names one, until e.Keep. What it
	// returns nil for survives a crash of the process.
	Save(ctx context.Context, e Entry, body []byte) error

	// Delete forgets an origin.
	Delete(ctx context.Context, origin string) error

	// Entries yields all entries, in no order, and an error last.
	Entries(ctx context.Context) iter.Seq2[Entry, error]
}

// A Fleet is a [Backend] that several processes share, so that one of them
// fetches and the others see what came of it.
type Fleet interface {
	Backend

	// Lease reports whether holder may fetch the robots.txt of an origin for the
	// fleet, for the time d. A holder that already may does so for d again.
	Lease(ctx context.Context, origin, holder string, d time.Duration) (bool, error)

	// Release ends the lease of holder, if it has one.
	Release(ctx context.Context, origin, holder string) error

	// Changes returns the origins that other processes have saved or deleted
	// since the cursor, and the cursor from which to go on. With "" it returns
	// none and the present cursor.
	Changes(ctx context.Context, cursor string) (origins []string, next string, err error)
}
