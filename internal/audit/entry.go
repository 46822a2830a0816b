package audit

import (
	"bytes"
	"time"
)

// An Entry is a line of the log as it is read. Texts are nil where they are
// absent, and valid as long as the line is.
type Entry struct {
	Time, ID, Event               []byte
	Client, User, Agent           []byte
	Method, URL, Query            []byte // Query: what became of the query of URL; see Options.Query
	Verdict, Reason               []byte
	Group, Rule                   []byte
	Profile, DisallowedBy         []byte
	Override, Error, Robots       []byte // Robots is raw JSON
	RuleLine, ClientEntry, Status int
	Enforced, Intercepted         bool
	Line                          []byte // all of it
}

// Parse reads a line into e, whatever e held before. The error says only that
// the line is no record.
func (e *Entry) Parse(line []byte) error {
	*e = Entry{Line: line}
	o := membersOf(line)
	for {
		key, value, ok := o.next()
		if !ok {
			break
		}
		e.set(key, value)
	}
	if o.err == nil && e.Event == nil && e.Verdict == nil {
		return errNotRecord
	}
	return o.err
}

func (e *Entry) set(key, value []byte) {
	switch string(key) {
	case "time":
		e.Time = text(value)
	case "id":
		e.ID = text(value)
	case "event":
		e.Event = text(value)
	case "client":
		e.Client = text(value)
	case "user":
		e.User = text(value)
	case "agent":
		e.Agent = text(value)
	case "method":
		e.Method = text(value)
	case "url":
		e.URL = text(value)
	case "query":
		e.Query = text(value)
	case "verdict":
		e.Verdict = text(value)
	case "reason":
		e.Reason = text(value)
	case "group":
		e.Group = text(value)
	case "rule":
		e.Rule = text(value)
	case "profile":
		e.Profile = text(value)
	case "disallowed_by":
		e.DisallowedBy = text(value)
	case "override":
		e.Override = text(value)
	case "error":
		e.Error = text(value)
	case "robots":
		e.Robots = value
	case "line":
		e.RuleLine = number(value)
	case "client_entry":
		e.ClientEntry = number(value)
	case "status":
		e.Status = number(value)
	case "enforced":
		e.Enforced = string(value) == "true"
	case "intercepted":
		e.Intercepted = string(value) == "true"
	}
}

// RobotsFile is the robots.txt that a record names.
type RobotsFile struct {
	URL, FinalURL, SHA256, Retrieved []byte
	Status                           int
	Stale                            bool
}

// File reads the robots.txt that e names; the zero value when it names none.
func (e *Entry) File() (f RobotsFile) {
	if e.Robots == nil {
		return f
	}
	o := membersOf(e.Robots)
	for {
		key, value, ok := o.next()
		if !ok {
			return f
		}
		switch string(key) {
		case "url":
			f.URL = text(value)
		case "final_url":
			f.FinalURL = text(value)
		case "sha256":
			f.SHA256 = text(value)
		case "retrieved":
			f.Retrieved = text(value)
		case "status":
			f.Status = number(value)
		case "stale":
			f.Stale = string(value) == "true"
		}
	}
}

// Own reports whether the log tells of itself, and not of an exchange.
func (e *Entry) Own() bool {
	return e.Verdict == nil && (string(e.Event) == EventTorn || string(e.Event) == EventLost || string(e.Event) == EventCut)
}

// Host is the host of the target, with its port where that is not the scheme's
// own, or that of https for a CONNECT.
func (e *Entry) Host() []byte {
	host, usual := e.URL, ":443"
	if i := bytes.Index(host, []byte("://")); i >= 0 {
		if string(host[:i]) == "http" || string(host[:i]) == "ws" {
			usual = ":80"
		}
		host = host[i+3:]
	}
	if i := bytes.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	return bytes.TrimSuffix(host, []byte(usual))
}

// ClientHost is the client without its port.
func (e *Entry) ClientHost() []byte {
	c := e.Client
	i := bytes.LastIndexByte(c, ':')
	if i < 0 || c[0] != '[' && bytes.IndexByte(c, ':') != i {
		return c // an address alone
	}
	return bytes.Trim(c[:i], "[]")
}

// At is when the exchange began; the zero time when it is not said.
func (e *Entry) At() time.Time {
	t, err := time.Parse(time.RFC3339Nano, string(e.Time))
	if err != nil {
		return time.Time{}
	}
	return t
}

// A Filter chooses entries. What is zero chooses all.
type Filter struct {
	Since, Until time.Time // from, and before
	Host         string    // in lower case; *.suffix is all below it
	Verdict      string
	Reason       string
	Agent        string // in any case
	User         string

	since, until string
}

// Ready makes f ready for Match; it is to be called once its fields are set.
func (f *Filter) Ready() {
	if !f.Since.IsZero() {
		f.since = f.Since.UTC().Format(timeFormat)
	}
	if !f.Until.IsZero() {
		f.until = f.Until.UTC().Format(timeFormat)
	}
}

// Match reports whether e is chosen. What the log tells of itself is chosen by
// its time alone, and by nothing else.
func (f *Filter) Match(e *Entry) bool {
	// The times of a Writer are all in UTC and of one length, and sort as text.
	if f.since != "" && string(e.Time) < f.since || f.until != "" && string(e.Time) >= f.until {
		return false
	}
	return (f.Verdict == "" || f.Verdict == string(e.Verdict)) &&
		(f.Reason == "" || f.Reason == string(e.Reason)) &&
		(f.User == "" || f.User == string(e.User)) &&
		(f.Agent == "" || len(f.Agent) == len(e.Agent) && bytes.EqualFold([]byte(f.Agent), e.Agent)) &&
		(f.Host == "" || f.host(e.Host()))
}

func (f *Filter) host(host []byte) bool {
	if len(f.Host) > 1 && f.Host[0] == '*' {
		return len(host) > len(f.Host)-1 && string(host[len(host)-len(f.Host)+1:]) == f.Host[1:]
	}
	return string(host) == f.Host
}
