package audit

import (
	"cmp"
	"slices"
)

// Dimensions are what a Summary counts by, in the order in which they are shown.
var Dimensions = []string{"verdict", "reason", "host", "rule", "agent", "client", "user", "hour"}

// Counts are how many decisions had which verdict.
type Counts struct {
	Decisions uint64 `json:"decisions"`
	Allowed   uint64 `json:"allowed"`
	Disallow  uint64 `json:"disallowed"`
	Errors    uint64 `json:"errors"`
}

func (c *Counts) add(verdict []byte) {
	c.Decisions++
	switch string(verdict) {
	case "allow":
		c.Allowed++
	case "error":
		c.Errors++
	default:
		c.Disallow++
	}
}

func (c *Counts) addAll(o Counts) {
	c.Decisions += o.Decisions
	c.Allowed += o.Allowed
	c.Disallow += o.Disallow
	c.Errors += o.Errors
}

// MaxKeys is up to how many different hosts, or rules, or clients the counts of a
// Summary are exact. Beyond, the rarest half is counted together; what comes back
// after that is counted anew, so that a count may be too low by Table.Slack.
const MaxKeys = 100_000

// A Summary counts decisions. It takes constant memory. Make one with NewSummary;
// it belongs to one goroutine.
type Summary struct {
	Total     Counts
	Monitored uint64 // disallowed, but only noted
	Lost      uint64 // records that the log says were lost
	Malformed uint64 // lines that are no record

	first, last []byte // times
	by          []Table
	key         []byte
}

// Table is the counts by one dimension.
type Table struct {
	By     string
	Others Counts // of the rarest keys, once there were more than MaxKeys
	Slack  uint64 // the most that a count may be too low by

	keys map[string]*Counts
}

// NewSummary makes a Summary that counts by dimensions.
func NewSummary(by ...string) *Summary {
	s := &Summary{}
	for _, d := range by {
		s.by = append(s.by, Table{By: d, keys: map[string]*Counts{}})
	}
	return s
}

// Add counts e. The end of a tunnel or a WebSocket is not counted, since its
// beginning was.
func (s *Summary) Add(e *Entry) {
	if e.Own() {
		if string(e.Event) == EventLost {
			s.Lost += lostOf(e.Line)
		}
		return
	}
	if string(e.Event) == "close" {
		return
	}
	if s.first == nil || string(e.Time) < string(s.first) {
		s.first = append(s.first[:0], e.Time...)
	}
	if string(e.Time) > string(s.last) {
		s.last = append(s.last[:0], e.Time...)
	}
	s.Total.add(e.Verdict)
	if !e.Enforced && string(e.Verdict) == "disallow" {
		s.Monitored++
	}
	for i := range s.by {
		t := &s.by[i]
		if key := s.keyOf(t.By, e); len(key) > 0 {
			t.add(key, e.Verdict)
		}
	}
}

func lostOf(line []byte) uint64 {
	o := membersOf(line)
	for {
		key, value, ok := o.next()
		if !ok {
			return 0
		}
		if string(key) == "lost" {
			return uint64(number(value))
		}
	}
}

// keyOf is what e is counted by in a dimension; nil when it has nothing to do
// with it.
func (s *Summary) keyOf(dimension string, e *Entry) []byte {
	switch dimension {
	case "verdict":
		return e.Verdict
	case "reason":
		return e.Reason
	case "host":
		return e.Host()
	case "agent":
		return e.Agent
	case "client":
		return e.ClientHost()
	case "user":
		return e.User
	case "hour":
		if len(e.Time) > len("2026-03-01T14") {
			return e.Time[:len("2026-03-01T14")]
		}
	case "rule":
		if e.Rule != nil {
			s.key = append(append(append(s.key[:0], e.Host()...), ' '), e.Rule...)
			return s.key
		}
	}
	return nil
}

func (t *Table) add(key, verdict []byte) {
	c := t.keys[string(key)]
	if c == nil {
		if len(t.keys) >= MaxKeys {
			t.prune()
		}
		c = &Counts{}
		t.keys[string(key)] = c
	}
	c.add(verdict)
}

// prune makes room: heavy keys stay, whenever they come.
func (t *Table) prune() {
	rows := t.Rows()
	slices.SortFunc(rows, byCount)
	rare := rows[len(rows)/2:]
	for _, r := range rare {
		t.Others.addAll(r.Counts)
		delete(t.keys, r.Key)
	}
	t.Slack += rare[0].Decisions
}

// A Row is one line of a table.
type Row struct {
	Key string
	Counts
}

// First and Last are the earliest and the latest time of a decision, as the log
// has it; "" when there was none.
func (s *Summary) First() string { return string(s.first) }

// Last is described at First.
func (s *Summary) Last() string { return string(s.last) }

// Tables returns what was counted.
func (s *Summary) Tables() []Table { return s.by }

// Rows returns the counts, the highest first. Hours come in their own order.
func (t *Table) Rows() []Row {
	rows := make([]Row, 0, len(t.keys))
	for key, c := range t.keys {
		rows = append(rows, Row{key, *c})
	}
	if t.By == "hour" {
		slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Key, b.Key) })
	} else {
		slices.SortFunc(rows, byCount)
	}
	return rows
}

func byCount(a, b Row) int {
	return cmp.Or(cmp.Compare(b.Decisions, a.Decisions), cmp.Compare(a.Key, b.Key))
}
