package policy

import (
	"iter"
	"strings"
)

// wildcard is the name of the groups that rule agents no group names.
const wildcard = "*"

// A block is one run of agent lines and the rules under it. It reaches to where
// the next one starts, or to the end of the text. Nothing else is kept of the
// lines: what a group says is read again from the text when it is first asked
// for, and a file whose many agent lines share many rules costs their sum.
type block struct {
	at   uint32 // where its first agent line begins
	line uint32 // the number of that line
}

// A reading is a text and its blocks under one dialect.
type reading struct {
	source
	dialect  *dialect
	blocks   []block
	absolute bool // some rule has a full URL for its path
}

// init finds the blocks. An agent line that names nothing opens or extends one
// too: what follows it is meant for somebody else than the agents above. A rule
// without a usable path ends the run of agent lines like any other (RFC 9309
// 2.1); other records leave groups as they are (2.2.4).
func (r *reading) init(d *dialect, s source) {
	r.source, r.dialect = s, d
	ruled := true // the last block has had a rule, so that the next agent line opens another
	rec := d.reader(s.text, 0, 1)
	for rec.next() {
		switch {
		case rec.key != agentKey:
			ruled = true
			r.absolute = r.absolute || absoluteURL(rec.value())
		case ruled:
			r.blocks = append(r.blocks, block{at: uint32(rec.at), line: uint32(rec.line)})
			ruled = false
		}
	}
	r.blocks = exact(r.blocks)
}

// absoluteURL tells a full URL from a path.
func absoluteURL(value string) bool { return !pathLike(value) && strings.Contains(value, "://") }

// pathLike reports whether value can match the start of a path. RFC 9309 2.2
// wants a slash, its example 5.1 begins with a star.
func pathLike(value string) bool { return value != "" && (value[0] == '/' || value[0] == '*') }

// block reads the i-th block from its start.
func (r *reading) block(i int) reader {
	end := len(r.text)
	if i+1 < len(r.blocks) {
		end = int(r.blocks[i+1].at)
	}
	return r.dialect.reader(r.text[:end], int(r.blocks[i].at), int(r.blocks[i].line))
}

// names reports whether the agent lines of the i-th block name a product token,
// or the wildcard.
func (r *reading) names(i int, token string) bool {
	rec := r.block(i)
	for rec.next() && rec.key == agentKey {
		if strings.EqualFold(r.dialect.agentName(rec.value()), token) {
			return true
		}
	}
	return false
}

// A group is what the configured tokens select: all blocks of one product
// token taken together (RFC 9309 2.2.1).
type group struct {
	agent string // configured token that selected it; for * or none, the first token
	name  string // that token as configured, or "*"; "" when there is no group
	token string // what the agent lines of its blocks name
}

// group selects by tokens, in their order, and falls back to *. A token is
// compared whole: one that merely begins or holds a name of the file's is
// another agent's.
func (r *reading) group(tokens []string) group {
	selected, star := len(tokens), false
	for i := range r.blocks {
		rec := r.block(i)
		for rec.next() && rec.key == agentKey {
			name := r.dialect.agentName(rec.value())
			star = star || name == wildcard
			for j, t := range tokens[:selected] {
				if t = r.dialect.token(t); t != "" && strings.EqualFold(t, name) {
					selected = j
					break
				}
			}
		}
	}
	switch {
	case selected < len(tokens):
		token := tokens[selected]
		return group{agent: token, name: token, token: strings.ToLower(r.dialect.token(token))}
	case star:
		return group{agent: first(tokens), name: wildcard, token: wildcard}
	}
	return group{agent: first(tokens)}
}

// named returns the blocks whose agent lines name token; "" names none.
func (r *reading) named(token string) (blocks []int) {
	for i := range r.blocks {
		if token != "" && r.names(i, token) {
			blocks = append(blocks, i)
		}
	}
	return blocks
}

// records yields the records of some blocks: their agent lines and their rules.
func (r *reading) records(blocks []int) iter.Seq[*reader] {
	return func(yield func(*reader) bool) {
		for _, i := range blocks {
			rec := r.block(i)
			for rec.next() {
				if !yield(&rec) {
					return
				}
			}
		}
	}
}

func first(tokens []string) string {
	if len(tokens) == 0 {
		return ""
	}
	return tokens[0]
}
