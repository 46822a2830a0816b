package policy

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Record is a line of the form "key: value" (RFC 9309 2.2.4).
type Record struct {
	Line       int    // 1-based
	Key, Value string // as written, without comment and outer blanks
}

// Records yields every line that has a colon and something before it, in file
// order: rules and agent lines, extensions, and keys that nobody knows.
func (r *Robots) Records() iter.Seq[Record] {
	return func(yield func(Record) bool) {
		if r == nil {
			return
		}
		for l := (lineRecords{lines: linesFrom(r.own.text, 0, 1)}); l.next(); {
			if !yield(l.record) {
				return
			}
		}
	}
}

// lineRecords walks through the lines that have a colon.
type lineRecords struct {
	lines
	record Record
}

func (l *lineRecords) next() bool {
	for l.scan() {
		var r record
		r.uncomment(l.text, l.from, l.to)
		key, value, ok := strings.Cut(l.text[r.start:r.end], ":")
		if key = trimmed(key); ok && key != "" {
			l.record = Record{l.number, key, trimmed(value)}
			return true
		}
	}
	return false
}

// values returns the values of a key that concerns the whole file.
func (r *Robots) values(keys ...string) (values []string) {
	for rec := range r.Records() {
		if slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, rec.Key) }) && rec.Value != "" {
			values = append(values, rec.Value)
		}
	}
	return values
}

// Sitemaps returns the values of all Sitemap lines.
func (r *Robots) Sitemaps() []string { return r.values("sitemap", "site-map") }

// Hosts returns the values of all Host lines, once Yandex's.
func (r *Robots) Hosts() []string { return r.values("host") }

// CleanParams returns the values of all Clean-param lines, Yandex's: parameters,
// then a path prefix.
func (r *Robots) CleanParams() []string { return r.values("clean-param") }

// Licenses returns the values of all License lines (Really Simple Licensing).
func (r *Robots) Licenses() []string { return r.values("license") }

// UnknownRecords returns the lines whose key nobody is known to read.
func (r *Robots) UnknownRecords() (unknown []Record) {
	for rec := range r.Records() {
		if _, known := extensions[strings.ToLower(rec.Key)]; !known && keyOf(rec.Key) == otherKey {
			unknown = append(unknown, rec)
		}
	}
	return unknown
}

// Extensions is what a group says beside its rules. None of it is judged here.
// What cannot be read is left out; Lint reports it.
type Extensions struct {
	CrawlDelay     time.Duration // the longest of the group's; 0 when it has none
	RequestRates   []RequestRate
	VisitTimes     []ClockRange
	ContentSignals []Preferences // Content-Signal
	ContentUsages  []Preferences // Content-Usage (IETF AIPREF)
	AITraining     []string      // paths of DisallowAITraining
}

// A RequestRate is how many requests a group asks for at most in a time, such as
// "1/10s 0800-1200".
type RequestRate struct {
	Requests int
	Per      time.Duration
	During   ClockRange // zero when it holds all day
}

// A ClockRange is a part of the day in UTC, from and to as minutes since
// midnight; one that ends before it starts goes over midnight.
type ClockRange struct{ From, To int }

// Preferences is one line of preferences such as "/path search=yes, ai-train=no".
type Preferences struct {
	Line   int               // 1-based
	Path   string            // the paths it is for, as a rule has them; "" for all
	Values map[string]string // by name in lower case
}

// Extensions returns what the group that tokens select says beside its rules; a
// line belongs to the agent lines above it. It reads the text anew, so keep what
// it returns.
func (r *Robots) Extensions(tokens []string) Extensions {
	var x Extensions
	if r == nil || !r.parsed {
		return x
	}
	for _, i := range r.own.named(r.own.group(tokens).token) {
		b := r.own.block(i)
		for l := (lineRecords{lines: b.lines}); l.next(); {
			if e, ok := extensions[strings.ToLower(l.record.Key)]; ok && e.read != nil {
				e.read(&x, l.record)
			}
		}
	}
	return x
}

func parseSeconds(s string) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(s), "s"), 64)
	// Not a day longer than a year: beyond it a slip is likelier.
	if err != nil || !(n >= 0 && n <= 366*24*60*60) {
		return 0, false
	}
	return time.Duration(n * float64(time.Second)), true
}

// parseRate reads "1/10", "1/10s", "1/5m" or "1/1h", and hours behind it.
func parseRate(s string) (r RequestRate, ok bool) {
	rate, during, _ := strings.Cut(s, " ")
	requests, per, found := strings.Cut(rate, "/")
	n, err := strconv.Atoi(requests)
	if err != nil || n <= 0 || !found || per == "" {
		return r, false
	}
	unit := time.Second
	switch per[len(per)-1] {
	case 'm':
		unit, per = time.Minute, per[:len(per)-1]
	case 'h':
		unit, per = time.Hour, per[:len(per)-1]
	}
	seconds, ok := parseSeconds(per)
	if r = (RequestRate{Requests: n, Per: seconds * (unit / time.Second)}); !ok || seconds <= 0 {
		return RequestRate{}, false
	}
	if during = trimmed(during); during != "" {
		r.During, ok = parseClock(during)
	}
	return r, ok
}

// parseClock reads "0800-1245", also with colons or a blank around the dash.
func parseClock(s string) (c ClockRange, ok bool) {
	from, to, found := strings.Cut(strings.NewReplacer(":", "", " ", "", "\t", "").Replace(s), "-")
	var okFrom, okTo bool
	c.From, okFrom = parseMinutes(from)
	c.To, okTo = parseMinutes(to)
	if !found || !okFrom || !okTo {
		return ClockRange{}, false
	}
	return c, true
}

func parseMinutes(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	if err != nil || len(s) != 4 || n < 0 || n > 2400 || n%100 > 59 {
		return 0, false
	}
	return n/100*60 + n%100, true
}

// parsePreferences reads names and values, and a path before them.
func parsePreferences(rec Record) (p Preferences, ok bool) {
	p.Line = rec.Line
	list := rec.Value
	if pathLike(list) {
		if p.Path, list, ok = strings.Cut(list, " "); !ok {
			return p, false
		}
	}
	p.Values = map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		name, value, found := strings.Cut(pair, "=")
		if name, value = trimmed(name), trimmed(value); !found || name == "" || value == "" {
			return p, false
		}
		p.Values[strings.ToLower(name)] = value
	}
	return p, true
}

// Lines returns the lines of the file as they were read: without their ends,
// without a byte order mark, out of UTF-16. Findings of Lint are positions in
// them.
func (r *Robots) Lines() (all []string) {
	if r == nil {
		return nil
	}
	for l := linesFrom(r.own.text, 0, 1); l.scan(); {
		all = append(all, r.own.text[l.from:l.to])
	}
	return all
}
