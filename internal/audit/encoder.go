package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"net/netip"
	"strings"
	"sync"

	"heed/proxy"
)

// maxKeptBuffer bounds what a rare long URL leaves behind in the pool.
const maxKeptBuffer = 64 << 10

// An encoder turns records into lines as the options of a Writer want them. It is
// safe for concurrent use.
type encoder struct {
	query, client string

	buffers sync.Pool // of *buffer
	hashes  sync.Pool // of *addressHash, keyed; for ClientHash
}

type buffer struct {
	line []byte
	pool *sync.Pool
}

func newEncoder(o Options) *encoder {
	e := &encoder{query: o.Query, client: o.Client}
	e.buffers.New = func() any { return &buffer{pool: &e.buffers} }
	if o.Client == ClientHash {
		key := o.clientKey()
		e.hashes.New = func() any { return &addressHash{Hash: hmac.New(sha256.New, key)} }
	}
	return e
}

// record encodes r without its closing brace. The buffer has to be released.
func (e *encoder) record(r *proxy.Record) *buffer {
	b := e.buffers.Get().(*buffer)
	b.line = e.append(b.line[:0], r)
	return b
}

func (b *buffer) release() {
	if cap(b.line) <= maxKeptBuffer {
		b.pool.Put(b)
	}
}

// appendURL appends the target, and what became of its query where that is not
// what was decided on.
func (e *encoder) appendURL(dst []byte, u string) []byte {
	bare := withoutUserinfo(u)
	clean := cleanQuery(bare, e.query)
	dst = appendText(dst, "url", clean)
	if clean != bare {
		dst = appendText(dst, "query", e.query)
	}
	return dst
}

// appendClient writes an IPv4 client of a dual-stack listener as IPv4. What is
// left of an address has no port.
func (e *encoder) appendClient(dst []byte, client netip.AddrPort) []byte {
	if !client.IsValid() {
		return dst
	}
	addr := client.Addr().Unmap().WithZone("") // a zone names an interface, to this host alone
	dst = append(appendKey(dst, "client"), '"')
	switch e.client {
	case ClientTruncate:
		dst = truncated(addr).AppendTo(dst)
	case ClientHash:
		dst = e.appendHashed(dst, addr)
	default:
		dst = netip.AddrPortFrom(addr, client.Port()).AppendTo(dst)
	}
	return append(dst, '"')
}

// truncated is the address of the network that a belongs to.
func truncated(a netip.Addr) netip.Addr {
	bits := 48
	if a.Is4() {
		bits = 24
	}
	p, _ := a.Prefix(bits) // no address is shorter
	return p.Addr()
}

// addressHash makes hashes of addresses.
type addressHash struct {
	hash.Hash
	raw [16]byte
	sum [sha256.Size]byte
}

// appendHashed appends half an HMAC in hex: enough to tell clients apart, and too
// little for a record to grow by much.
func (e *encoder) appendHashed(dst []byte, a netip.Addr) []byte {
	h := e.hashes.Get().(*addressHash)
	h.Reset()
	h.raw = a.As16()
	h.Write(h.raw[:])
	dst = hex.AppendEncode(dst, h.Sum(h.sum[:0])[:sha256.Size/2])
	e.hashes.Put(h)
	return dst
}

// cleanError treats the URLs in the text of an error as the URL of the record,
// and the address of the client as the client.
func (e *encoder) cleanError(r *proxy.Record) string {
	text := cleanText(r.Err, r.URL, e.query)
	if e.client == "" || e.client == ClientKeep || !r.Client.IsValid() || !strings.ContainsAny(text, "0123456789:") {
		return text
	}
	for _, a := range []netip.Addr{r.Client.Addr(), r.Client.Addr().Unmap()} {
		text = strings.ReplaceAll(text, netip.AddrPortFrom(a, r.Client.Port()).String(), "(client)")
		text = strings.ReplaceAll(text, a.String(), "(client)")
	}
	return text
}
