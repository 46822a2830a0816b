package fetch

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A freshness is what an answer says about how long it may be reused (RFC 9111
// 4.2).
type freshness struct {
	explicit bool          // the answer names a lifetime
	lifetime time.Duration // from its creation at the origin (4.2.1); 0 when it is not to be reused unasked
	age      time.Duration // when it arrived (4.2.3)
	noStore  bool          // 5.2.2.5
}

// left is how much of the lifetime there is on arrival; never negative.
func (f freshness) left() time.Duration { return max(f.lifetime-f.age, 0) }

// and is the freshness of what rests on both answers, a redirect and the file
// it led to: as long as the shorter one.
func (f freshness) and(g freshness) freshness {
	noStore := f.noStore || g.noStore
	if f.explicit && (!g.explicit || f.left() < g.left()) {
		g = f
	}
	g.noStore = noStore
	return g
}

// freshnessOf reads the header of an answer to a request that was sent and
// answered at those times. s-maxage comes before max-age, since heed serves many
// clients, and both before Expires. What cannot be understood, or is said twice
// and differently, is a lifetime of 0 (RFC 9111 4.2.1). Directives about whom
// or when a stale answer may be served (private, must-revalidate,
// stale-if-error) are not read: nothing personal was asked for, and what rules
// while an origin is unreachable is a setting (RFC 9309 2.3.1.4).
func freshnessOf(h http.Header, sent, received time.Time) freshness {
	f := freshness{age: age(h, sent, received)}
	cc := cacheControl(h)
	f.noStore = cc.noStore
	switch {
	case cc.noCache, cc.noStore: // for the decision in hand, and what min_ttl adds
		f.explicit = true
	case cc.sharedAge.given:
		f.explicit, f.lifetime = true, cc.sharedAge.value
	case cc.maxAge.given:
		f.explicit, f.lifetime = true, cc.maxAge.value
	case len(h["Expires"]) > 0:
		f.explicit = true
		// Expires: 0 and other non-dates mean the past (RFC 9111 5.3).
		if expires, err := http.ParseTime(h.Get("Expires")); err == nil && len(h["Expires"]) == 1 {
			f.lifetime = max(expires.Sub(dateOf(h, received)), 0)
		}
	}
	return f
}

// age is the corrected initial age (RFC 9111 4.2.3).
func age(h http.Header, sent, received time.Time) time.Duration {
	apparent := max(received.Sub(dateOf(h, received)), 0)
	value, _, _ := strings.Cut(h.Get("Age"), ",")
	stated, _ := deltaSeconds(strings.TrimSpace(value)) // an Age that is none is ignored (5.1)
	return max(apparent, stated+received.Sub(sent))
}

func dateOf(h http.Header, fallback time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date
	}
	return fallback
}

type directives struct {
	noStore, noCache  bool
	sharedAge, maxAge seconds
}

// seconds is the argument of a directive that may be given more than once.
type seconds struct {
	given bool
	value time.Duration
}

func (s *seconds) set(arg string) {
	value, ok := deltaSeconds(arg)
	if !ok || s.given && s.value != value {
		value = 0
	}
	*s = seconds{given: true, value: value}
}

// cacheControl reads the directives of RFC 9111 5.2.2 that matter here. An
// argument may be a token or a quoted string; no-cache that names fields counts
// as plain no-cache.
func cacheControl(h http.Header) directives {
	var d directives
	for rest := strings.Join(h["Cache-Control"], ","); rest != ""; {
		var item string
		item, rest = cutUnquoted(rest)
		name, arg, _ := strings.Cut(strings.TrimSpace(item), "=")
		switch strings.ToLower(name) {
		case "no-store":
			d.noStore = true
		case "no-cache":
			d.noCache = true
		case "s-maxage":
			d.sharedAge.set(strings.Trim(arg, `"`))
		case "max-age":
			d.maxAge.set(strings.Trim(arg, `"`))
		}
	}
	return d
}

// cutUnquoted parts s at its first comma outside a quoted string.
func cutUnquoted(s string) (item, rest string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			quoted = !quoted
		case '\\':
			if quoted {
				i++
			}
		case ',':
			if !quoted {
				return s[:i], s[i+1:]
			}
		}
	}
	return s, ""
}

// maxDelta is what a number of seconds too large to be meant is taken for (RFC
// 9111 1.2.2: 2^31).
const maxDelta = 1 << 31

// deltaSeconds reads a number of seconds: digits and nothing else.
func deltaSeconds(s string) (time.Duration, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > maxDelta {
		n = maxDelta
	}
	return time.Duration(n) * time.Second, true
}
