package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Kinds of a Fault.
const (
	FaultChanged = "changed" // a line is not as it was written, or was not written by the key's owner
	FaultMissing = "missing" // lines are not there
	FaultOrder   = "order"   // a line stands where another belongs
	FaultCut     = "cut"     // the log goes on, by its head or by its last line, and does not
	FaultChain   = "chain"   // a line of another chain
	FaultHead    = "head"    // the head cannot be compared with the log
)

// A Fault is something that a chain shows to be wrong.
type Fault struct {
	Kind string `json:"kind"`
	File string `json:"file,omitempty"`
	Line int64  `json:"line,omitempty"` // 1-based, in File; 0: the fault is in no line
	Seq  uint64 `json:"seq,omitempty"`  // 0: not known
	Text string `json:"text"`
}

// A Verifier checks that lines are those that a Writer wrote, all of them and in
// its order. It takes constant memory. Make one with NewVerifier; it belongs to
// one goroutine.
type Verifier struct {
	Complete bool // a chain that does not begin with its first line is a fault

	key     bool
	seal    *sealer
	heads   []headCheck
	onFault func(Fault)

	file  string
	line  int64 // of file
	open  bool  // the last line had no newline
	queue []unexplained

	Records uint64 // lines of the chain, those that the log wrote of itself included
	Torn    uint64 // lines that were not written to their end, and of which the log tells
	Lost    uint64 // records that the log says were lost
	Faults  uint64
	First   Link // the zero value before the first line
	Last    Link
}

type headCheck struct {
	name string
	at   Link
	seen bool
}

// unexplained is a line that no chain wrote, until a later one says what it is.
type unexplained struct {
	file string
	line int64
	fragment
}

// maxUnexplained bounds what a file that is no log at all leaves in memory.
const maxUnexplained = 1000

// NewVerifier makes a Verifier. key is that of the Writer, nil for none. onFault
// is called for each fault as it is found.
func NewVerifier(key []byte, onFault func(Fault)) *Verifier {
	return &Verifier{key: key != nil, seal: newSealer(key), onFault: onFault}
}

// Head has the lines compared with a head, which name tells of. It is to be
// called before the first line.
func (v *Verifier) Head(name string, at Link) {
	v.heads = append(v.heads, headCheck{name: name, at: at})
}

// File says that the lines that follow are those of a file.
func (v *Verifier) File(name string) { v.file, v.line = name, 0 }

// Line takes the next line, without its newline. ended is whether it had one. The
// line is not kept.
func (v *Verifier) Line(line []byte, ended bool) {
	v.line++
	v.open = !ended
	p, ok := parseSealed(line, v.Last.Chain)
	if !ok {
		if len(v.queue) < maxUnexplained {
			v.queue = append(v.queue, unexplained{v.file, v.line, fragmentOf(line)})
		} else {
			v.fault(FaultChanged, 0, "not a line of a chain")
		}
		return
	}
	v.Records++
	v.explain(line, p)
	if v.seal.digest(p.text) == p.Hash {
		v.follow(p)
		v.compare(p, true)
	} else {
		// Its place may be what was changed: the most likely one is the next.
		if v.Last.Seq > 0 {
			p.Chain, p.Seq = v.Last.Chain, v.Last.Seq+1
		}
		v.fault(FaultChanged, p.Seq, v.changed())
		v.compare(p, false) // one fault for one line
	}
	if v.First.Seq == 0 {
		v.First = p.Link
	}
	v.Last = p.Link
}

func (v *Verifier) changed() string {
	if v.key {
		return "the line is not as it was written, or was not written with this key"
	}
	return "the line is not as it was written, or was written with a key"
}

// explain settles what is unexplained before p.
func (v *Verifier) explain(line []byte, p sealed) {
	start := line[:min(len(line), 80)]
	own := bytes.Contains(start, []byte(`,"event":"torn",`)) || bytes.Contains(start, []byte(`,"event":"lost",`))
	if own {
		var note struct {
			Torn *fragment
			Lost uint64
		}
		if err := json.Unmarshal(line, &note); err != nil {
			return // a changed line, which has been told
		}
		v.Lost += note.Lost
		switch {
		case note.Torn == nil:
		case len(v.queue) > 0 && v.queue[0].fragment == *note.Torn:
			v.queue = v.queue[1:]
			v.Torn++
			return
		case len(v.queue) == 0 && v.Last.Seq == 0:
			return // it stood in an earlier file
		default:
			v.fault(FaultChanged, p.Seq, fmt.Sprintf("this record tells of a line of %d octets that is not before it", note.Torn.Bytes))
		}
	}
	v.giveUp(p)
}

// giveUp tells of the lines that nothing explains. Where as many are missing
// before p, it was they that were changed.
func (v *Verifier) giveUp(p sealed) {
	n := uint64(len(v.queue))
	fits := n > 0 && v.Last.Seq > 0 && p.Chain == v.Last.Chain && p.Seq == v.Last.Seq+n+1
	for i, u := range v.queue {
		f := Fault{Kind: FaultChanged, File: u.file, Line: u.line, Text: "not a line of a chain"}
		if fits {
			f.Seq = v.Last.Seq + 1 + uint64(i)
		}
		v.tell(f)
	}
	if fits {
		v.Last.Seq, v.Last.Hash = p.Seq-1, p.prev
	}
	v.queue = v.queue[:0]
}

// follow checks that p comes next.
func (v *Verifier) follow(p sealed) {
	last := v.Last
	switch {
	case last.Seq == 0 && p.Seq > 1:
		if v.Complete {
			v.fault(FaultMissing, p.Seq, fmt.Sprintf("seq 1 to %d are missing before this line", p.Seq-1))
		}
	case last.Seq == 0:
		if p.prev != NoDigest {
			v.fault(FaultChanged, p.Seq, "the first line of a chain has no hash before it, and this one has")
		}
	case p.Chain != last.Chain:
		v.fault(FaultChain, p.Seq, fmt.Sprintf("chain %s begins here, after seq %d of chain %s", p.Chain, last.Seq, last.Chain))
	case p.Seq > last.Seq+2:
		v.fault(FaultMissing, p.Seq, fmt.Sprintf("seq %d to %d are missing before this line", last.Seq+1, p.Seq-1))
	case p.Seq == last.Seq+2:
		v.fault(FaultMissing, p.Seq, fmt.Sprintf("seq %d is missing before this line", p.Seq-1))
	case p.Seq == last.Seq:
		v.fault(FaultOrder, p.Seq, fmt.Sprintf("seq %d stands here twice", p.Seq))
	case p.Seq < last.Seq:
		v.fault(FaultOrder, p.Seq, fmt.Sprintf("seq %d stands after seq %d", p.Seq, last.Seq))
	case p.prev != last.Hash:
		v.fault(FaultChanged, p.Seq, fmt.Sprintf("the line before, seq %d, is not the one that was written", last.Seq))
	}
}

// compare compares p with the heads. Where whole is not set, it is known to differ.
func (v *Verifier) compare(p sealed, whole bool) {
	for i := range v.heads {
		h := &v.heads[i]
		if h.seen || h.at.Seq != p.Seq || h.at.Chain != p.Chain {
			continue
		}
		h.seen = true
		if whole && h.at.Hash != p.Hash {
			v.fault(FaultChanged, p.Seq, "the head "+h.name+" has another hash for this line")
		}
	}
}

// End says that there are no more lines.
func (v *Verifier) End() {
	last := len(v.queue) - 1
	for i, u := range v.queue {
		f := Fault{Kind: FaultChanged, File: u.file, Line: u.line, Text: "not a line of a chain"}
		if i == last && v.open {
			f.Kind, f.Text = FaultCut, "the last line is not whole"
		}
		v.tell(f)
	}
	if v.open && last < 0 {
		v.fault(FaultCut, v.Last.Seq, "the last line has no newline")
	}
	for _, h := range v.heads {
		f := Fault{Kind: FaultHead, File: h.name, Seq: h.at.Seq}
		switch {
		case h.seen:
			continue
		case v.Last.Seq == 0:
			f.Kind, f.Text = FaultCut, fmt.Sprintf("the log is empty; by its head it goes on to seq %d", h.at.Seq)
		case h.at.Chain != v.Last.Chain:
			f.Text = fmt.Sprintf("the head is of chain %s, and the log ends in chain %s", h.at.Chain, v.Last.Chain)
		case h.at.Seq > v.Last.Seq:
			f.Kind, f.Text = FaultCut, fmt.Sprintf("the log ends at seq %d; by its head it goes on to seq %d", v.Last.Seq, h.at.Seq)
		default:
			f.Text = fmt.Sprintf("seq %d, of which the head tells, is not in the files given", h.at.Seq)
		}
		v.tell(f)
	}
}

func (v *Verifier) fault(kind string, seq uint64, text string) {
	v.tell(Fault{kind, v.file, v.line, seq, text})
}

func (v *Verifier) tell(f Fault) {
	v.Faults++
	v.onFault(f)
}

// FirstLink returns the place that the first line of a log says it has; false
// where it says none. The log is opened and closed.
func FirstLink(name string) (Link, bool) {
	in, err := OpenInput(name, nil)
	if err != nil {
		return Link{}, false
	}
	defer in.Close()
	line, _, err := in.Next()
	if err != nil {
		return Link{}, false
	}
	p, ok := parseSealed(line, "")
	return p.Link, ok
}
