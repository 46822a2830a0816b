package fetch

import (
	"time"

	"heed/policy"
)

// known is what is known of one origin's robots.txt. It is made whole and never
// changes after [memory.put]. The zero value knows nothing.
type known struct {
	refresh time.Time // from here on, use starts a refresh

	// The last answer that settled the matter, and its file when it was
	// successful. Until there is one, access is the zero value, which is
	// unreachable.
	file   *file
	access policy.Access // without Robots
	validators
	declared time.Duration // lifetime that the file's own answer named; negative when it named none
	noStore  bool          // not for longer than needed, and not for a backend

	fresh time.Time // the end of freshness
	grace time.Time // until here it is used while it is being refreshed
	keep  time.Time // until here it rules while the origin is unreachable

	trouble *trouble  // the attempts since; nil when the last one settled the matter
	updated time.Time // the last attempt
}

// trouble is what came of the last attempts, all unreachable.
type trouble struct {
	access   policy.Access // of the last one; Retry is when the next is due
	failures int           // in a row
}

// A standing says whether what is known may be used.
type standing uint8

const (
	unknown standing = iota // no: the origin has to be asked first
	fresh                   // yes
	stale                   // yes, as a stale copy
	failed                  // the origin is unreachable, and it is too early to ask again
)

// at returns the standing at a time, and whether use should start a refresh.
func (k *known) at(now time.Time) (standing, bool) {
	if now.Before(k.refresh) {
		return fresh, false
	}
	t := k.trouble
	due := t == nil || !now.Before(t.access.Retry)
	switch {
	case now.Before(k.fresh):
		return fresh, due
	case t == nil && now.Before(k.grace):
		return stale, true
	case t != nil && !t.access.EgressDenied && now.Before(k.keep):
		return stale, due
	case t != nil && !due:
		return failed, false
	}
	return unknown, false
}

// result makes a, a zero value, what Access returns for a standing. Robots is
// left to the caller.
func (k *known) result(a *policy.Access, s standing) {
	switch {
	case s == fresh:
		*a = k.access
	case s == stale:
		*a = k.access
		a.Stale = true
		if k.trouble != nil {
			a.Cause, a.Retry = k.trouble.access.Cause, k.trouble.access.Retry
		}
	case k.trouble != nil:
		*a = k.trouble.access
	default:
		a.URL = k.access.URL
	}
}

// url is where the file itself was found.
func (k *known) url() string {
	if k.access.FinalURL != "" {
		return k.access.FinalURL
	}
	return k.access.URL
}

// validatorsFor returns what to ask url about the copy at hand, if there is one
// and it came from there. k may be nil.
func (k *known) validatorsFor(url string) validators {
	if k == nil || k.file == nil || k.url() != url {
		return validators{}
	}
	return k.validators
}

// useful is until when k may be of any use.
func (k *known) useful() time.Time {
	last := k.grace
	if k.keep.After(last) {
		last = k.keep
	}
	if t := k.trouble; t != nil {
		// How often it failed matters a while longer than until the retry.
		if remembered := t.access.Retry.Add(2 * maxErrorTTL); remembered.After(last) {
			last = remembered
		}
	}
	return last
}
