package filestore

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"

	"heed/fetch"
)

// The buckets: an entry by its origin, a body by its SHA-256 (32 octets).
var (
	entries = []byte("entries")
	bodies  = []byte("bodies")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// writeEntry puts a checksum before the entry: bbolt has none for its pages, and
// one flipped bit must not turn a rule around.
func writeEntry(e fetch.Entry) []byte {
	data := e.Encode()
	out := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(data)), crc32.Checksum(data, castagnoli))
	return append(out, data...)
}

// readEntry takes one that is missing or damaged for one that was not stored.
func readEntry(value []byte) (fetch.Entry, error) {
	if len(value) < 4 || crc32.Checksum(value[4:], castagnoli) != binary.BigEndian.Uint32(value) {
		return fetch.Entry{}, fetch.ErrNotStored
	}
	e, err := fetch.DecodeEntry(value[4:])
	if err != nil {
		return fetch.Entry{}, fetch.ErrNotStored
	}
	return e, nil
}

// bodyKey is nil for what is no digest, which no body has as its key.
func bodyKey(sha256 string) []byte {
	key, err := hex.DecodeString(sha256)
	if err != nil || len(key) != 32 {
		return nil
	}
	return key
}
