package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
)

// What the chain appends to a line, in this order. Everything before hashMark is
// what the hash is made of; what follows it has a fixed length.
const (
	chainMark = `,"chain":"`
	seqMark   = `","seq":`
	prevMark  = `,"prev":"`
	hashMark  = `,"hash":"`
	endMark   = `"}`

	digestHex  = 2 * sha256.Size
	hashSuffix = len(hashMark) + digestHex + len(endMark)
)

// A Digest is the hash of a line in lower-case hex. Zeros stand before the first
// line of a chain.
type Digest [digestHex]byte

// NoDigest is the prev of the first line of a chain.
var NoDigest = Digest(bytes.Repeat([]byte{'0'}, digestHex))

func (d Digest) String() string { return string(d[:]) }

// A Link is a place in a chain: a line's own, or the newest.
type Link struct {
	Chain string // names the chain; 1 to 64 letters, digits, - and _
	Seq   uint64 // counted from 1
	Hash  Digest
}

// newLink is the place before the first line of a new chain.
func newLink() Link {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	return Link{Chain: hex.EncodeToString(id[:]), Hash: NoDigest}
}

// sealer makes and checks hashes. It belongs to one goroutine.
type sealer struct {
	hash hash.Hash
	sum  [sha256.Size]byte
}

func newSealer(key []byte) *sealer {
	if key == nil {
		return &sealer{hash: sha256.New()}
	}
	return &sealer{hash: hmac.New(sha256.New, key)}
}

// digest is the hash of the octets before hashMark.
func (s *sealer) digest(text []byte) (d Digest) {
	s.hash.Reset()
	s.hash.Write(text)
	hex.Encode(d[:], s.hash.Sum(s.sum[:0]))
	return d
}

// seal ends dst, of which a line without its closing brace begins at start, as
// the line after l, and returns the place of the new line.
func (s *sealer) seal(dst []byte, start int, l Link) ([]byte, Link) {
	l.Seq++
	dst = append(dst, chainMark...)
	dst = append(dst, l.Chain...)
	dst = append(dst, seqMark...)
	dst = strconv.AppendUint(dst, l.Seq, 10)
	dst = append(dst, prevMark...)
	dst = append(dst, l.Hash[:]...)
	dst = append(dst, '"')
	l.Hash = s.digest(dst[start:])
	dst = append(dst, hashMark...)
	dst = append(dst, l.Hash[:]...)
	return append(dst, endMark...), l
}

// sealed is what a line says of its own place.
type sealed struct {
	Link
	prev Digest
	text []byte // what the hash is made of
}

// parseSealed reads the end of a line. ok is false for a line that no chain
// wrote. What it returns has not been checked. A chain of the name known costs no
// allocation.
func parseSealed(line []byte, known string) (p sealed, ok bool) {
	if len(line) < hashSuffix || line[0] != '{' || !bytes.HasSuffix(line, []byte(endMark)) {
		return p, false
	}
	p.text = line[:len(line)-hashSuffix]
	tail := line[len(p.text):]
	if !bytes.HasPrefix(tail, []byte(hashMark)) || !setDigest(&p.Hash, tail[len(hashMark):]) {
		return p, false
	}
	rest, ok := bytes.CutSuffix(p.text, []byte{'"'})
	if !ok || len(rest) < digestHex || !setDigest(&p.prev, rest[len(rest)-digestHex:]) {
		return p, false
	}
	if rest, ok = bytes.CutSuffix(rest[:len(rest)-digestHex], []byte(prevMark)); !ok {
		return p, false
	}
	return p, p.setPlace(rest, known)
}

// setPlace reads chain and seq at the end of rest.
func (p *sealed) setPlace(rest []byte, known string) bool {
	digits := len(rest)
	for digits > 0 && '0' <= rest[digits-1] && rest[digits-1] <= '9' {
		digits--
	}
	number := rest[digits:]
	if len(number) == 0 || len(number) > 19 || number[0] == '0' {
		return false
	}
	for _, c := range number {
		p.Seq = p.Seq*10 + uint64(c-'0')
	}
	rest, ok := bytes.CutSuffix(rest[:digits], []byte(seqMark))
	if !ok {
		return false
	}
	id := len(rest)
	for id > 0 && isIDChar(rest[id-1]) {
		id--
	}
	if len(rest)-id > 64 || id == len(rest) || !bytes.HasSuffix(rest[:id], []byte(chainMark)) {
		return false
	}
	if p.Chain = known; string(rest[id:]) != known {
		p.Chain = string(rest[id:])
	}
	return true
}

func isIDChar(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// setDigest reads a digest at the start of text.
func setDigest(d *Digest, text []byte) bool {
	for i, c := range text[:digestHex] {
		if ('0' > c || c > '9') && ('a' > c || c > 'f') {
			return false
		}
		d[i] = c
	}
	return true
}
