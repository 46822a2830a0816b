package policy

import (
	"strings"
	"unsafe"
)

const (
	entrySize    = int(unsafe.Sizeof(entry{}))
	manyPrefixes = 8  // as many are searched faster by key
	mostAlike    = 32 // octets that are worth their memory
)

// room is how many octets the index may still grow by: with the text it is to
// take no more than two and a half times that, and memory is handed out in steps
// that may be a quarter too large for a text.
func (b *builder) room() int {
	return b.seen*23/20 - entrySize*(1+len(b.literal)+len(b.star)) - len(b.kept)
}

// settle moves all that has been collected to where it stays: one piece of memory,
// because memory is handed out in steps.
func (b *builder) settle(prefixes, wild []ordinal) {
	entries, buckets, keys := len(prefixes)+len(wild), len(b.buckets), 0
	if len(prefixes) >= manyPrefixes && b.room() >= 4*(buckets+len(prefixes)) {
		keys = len(prefixes)
	}
	words := make([]uint32, entrySize/4*entries+buckets+keys+(len(b.kept)+3)/4)
	if len(words) == 0 {
		return
	}
	all := unsafe.Slice((*entry)(unsafe.Pointer(unsafe.SliceData(words))), entries)
	for i, o := range prefixes {
		all[i] = b.literal[o.rule].entry
	}
	for i, o := range wild {
		all[len(prefixes)+i] = b.star[o.rule].entry
	}
	b.prefixes, b.wild = all[:len(prefixes)], all[len(prefixes):]
	rest := words[entrySize/4*entries:]
	copy(rest, b.buckets)
	b.buckets, b.keys, rest = rest[:buckets], rest[buckets:buckets+keys], rest[buckets+keys:]
	octets := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(rest))), len(b.kept))
	copy(octets, b.kept)
	b.canon = text(octets)
}

// findAlike makes ready what tells at one look that none of the prefixes match.
func (b *builder) findAlike(prefixes []ordinal) {
	if len(prefixes) == 0 {
		return
	}
	pattern := func(i int) string { return b.literal[prefixes[i].rule].pattern }
	n := min(mostAlike, commonPrefix(pattern(0), pattern(len(prefixes)-1)))
	switch e := &b.prefixes[0]; {
	case !e.spelt():
		b.alike = b.pattern(e)[:n]
	case len(prefixes) >= manyPrefixes:
		b.alike = strings.Clone(pattern(0)[:n])
	default: // not worth its memory
		n = commonPrefix(pattern(0)[:n], b.written(e))
		b.alike = b.written(e)[:n]
	}
	for i := range b.keys {
		b.keys[i] = prefixKey(pattern(i)[n:])
	}
	if len(pattern(0)) == n {
		for i := range b.behind {
			b.behind[i] = ^uint32(0)
		}
		return
	}
	for i := range prefixes {
		b.behind.add(pattern(i)[n])
	}
}

// exact returns s without the room that it has grown in vain.
func exact[T any](s []T) []T {
	if len(s) == cap(s) {
		return s
	}
	return append(make([]T, 0, len(s)), s...)
}
