package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Values of Options.Events.
const (
	EventsAll     = "all"     // every record
	EventsRefused = "refused" // those whose verdict is not allow, enforced or not
)

// Values of Options.ClientAs: what becomes of the client's address.
const (
	ClientKeep     = "keep"     // address and port
	ClientTruncate = "truncate" // the network of the address: /24 of IPv4, /48 of IPv6
	ClientHash     = "hash"     // half an HMAC-SHA256 of the address, in hex
)

// Options say where the log goes and what is in it.
type Options struct {
	Path   string    // "-" is Stdout, "" writes nothing, anything else is a file that is appended to
	Stdout io.Writer // needed for the Path "-" only; Close leaves it open
	Events string    // EventsAll or EventsRefused; "" is EventsAll
	Query  string    // QueryKeep, QueryRedact or QueryDrop; "" is QueryKeep
	Client string    // ClientKeep, ClientTruncate or ClientHash, which needs a Key; "" is ClientKeep

	Chain bool   // each line holds the hash of the one before
	Key   []byte // makes the hashes of the chain HMACs; nil: plain SHA-256

	Rotate Rotation

	// OnError is told of the first failure of each run of failed writes, so that
	// a full disk is reported once and not once a request, and of each rotation
	// that failed. It is called from a goroutine of the Writer's own and holds up
	// the log. Nil: nobody is told.
	OnError func(error)
}

// Rotation says when a file of the log is put aside for a new one. The zero value
// never does.
type Rotation struct {
	Size     int64         // octets that a file may have; one record may have more; 0: any
	Every    time.Duration // a file holds records of one such period, counted from midnight UTC; 0: of any time
	Keep     int           // files put aside that are kept, the newest; 0: all
	Compress bool          // files put aside become gzip (RFC 1952)
}

func (o Options) validate() error {
	for _, v := range []struct {
		key, value string
		allowed    []string
	}{
		{"audit.events", o.Events, []string{EventsAll, EventsRefused}},
		{"audit.query", o.Query, []string{QueryKeep, QueryRedact, QueryDrop}},
		{"audit.client", o.Client, []string{ClientKeep, ClientTruncate, ClientHash}},
	} {
		if v.value != "" && !slices.Contains(v.allowed, v.value) {
			return fmt.Errorf("%s %q: want one of %q", v.key, v.value, v.allowed)
		}
	}
	switch {
	case o.Path == "-" && o.Stdout == nil:
		return errors.New("audit.path -: there is no standard output to write to")
	case o.Client == ClientHash && len(o.Key) == 0:
		return errors.New("audit.client hash: a hash of an address without a key is no secret; audit.key_file is needed")
	case o.Key != nil && len(o.Key) < MinKey:
		return fmt.Errorf("audit.key_file: the key has %d octets, and %d are the least", len(o.Key), MinKey)
	}
	return nil
}

// MinKey is how many octets a key has at least.
const MinKey = 16

// clientKey is for addresses alone: what is done with one key tells nothing of
// the other.
func (o Options) clientKey() []byte {
	m := hmac.New(sha256.New, o.Key)
	m.Write([]byte("heed audit: client addresses"))
	return m.Sum(nil)
}
