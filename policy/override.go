package policy

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Action is what an Override does. The zero value denies.
type Action uint8

// The actions of an override.
const (
	ActionDeny   Action = iota // nothing of the host may be asked for, its robots.txt included
	ActionAllow                // everything of the host may
	ActionRobots               // another robots.txt or other tokens decide
)

// String returns the word that the configuration has for a.
func (a Action) String() string {
	switch a {
	case ActionAllow:
		return "allow"
	case ActionRobots:
		return "robots"
	default:
		return "deny"
	}
}

// An Override is the operator's exception for some hosts. It is passed by value
// and not changed; Robots is shared. The zero value names no host.
type Override struct {
	Host    HostPattern
	Action  Action
	Robots  *Robots   // in the place of the host's own, under ActionRobots; nil: its own
	SHA256  string    // hex digest of the text of Robots
	Tokens  []string  // in the place of the client's, under ActionRobots; empty: the client's
	Reason  string    // why there is an exception, for who reads the record
	Expires time.Time // from here on it does not apply; zero: never
}

// String names o in a record: what it does, for which hosts, and why.
func (o Override) String() string {
	return o.Action.String() + " " + o.Host.String() + ": " + o.Reason
}

// FindOverride returns the first of list that applies to origin at the time now,
// or nil.
func FindOverride(list []Override, origin Origin, now time.Time) *Override {
	for i := range list {
		if o := &list[i]; o.Host.Match(origin) && (o.Expires.IsZero() || now.Before(o.Expires)) {
			return o
		}
	}
	return nil
}

// HostPattern names hosts: one name or address, "*.suffix" for every name below
// suffix, or "*" for all, each with an optional ":port". The zero value matches
// nothing.
type HostPattern struct {
	text  string
	kind  patternKind
	host  string
	port  uint16 // 0: any
	below string // "." and the suffix
}

type patternKind uint8

const (
	patternNone patternKind = iota
	patternExact
	patternBelow
	patternAll
)

// ParseHostPattern reads a pattern. The error says what is wrong with it.
func ParseHostPattern(text string) (HostPattern, error) {
	p := HostPattern{text: text, kind: patternExact}
	name := text
	switch {
	case name == "*" || strings.HasPrefix(name, "*:"):
		p.kind, name = patternAll, "all"+name[1:]
	case strings.HasPrefix(name, "*."):
		p.kind, name = patternBelow, name[2:]
	}
	if strings.Contains(name, "*") {
		return HostPattern{}, errors.New("a star elsewhere than alone or before a leading dot")
	}
	origin, err := ParseOrigin("https", name)
	if err != nil {
		return HostPattern{}, err
	}
	if strings.LastIndexByte(name, ':') > strings.LastIndexByte(name, ']') {
		if strings.HasSuffix(name, ":") {
			return HostPattern{}, fmt.Errorf("%q has no port after its colon", text)
		}
		p.port = origin.Port
	}
	p.host, p.below = origin.Host, "."+origin.Host
	return p, nil
}

// String returns the pattern as it was written.
func (p HostPattern) String() string { return p.text }

// Match reports whether p names o's host and port.
func (p HostPattern) Match(o Origin) bool {
	if p.port != 0 && p.port != o.Port {
		return false
	}
	switch p.kind {
	case patternExact:
		return o.Host == p.host
	case patternBelow:
		return strings.HasSuffix(o.Host, p.below)
	case patternAll:
		return o.Host != ""
	default:
		return false
	}
}
