package policy

import "time"

// Result is the access result of a robots.txt (RFC 9309 2.3.1). The zero value
// is Unreachable, which disallows everything.
type Result uint8

// The access results.
const (
	Unreachable Result = iota // 2.3.1.4: complete disallow
	Unavailable               // 2.3.1.3: no rules apply
	Successful                // 2.3.1.1: the rules apply
)

// String returns the RFC's word for r, in lower case.
func (r Result) String() string {
	switch r {
	case Successful:
		return "successful"
	case Unavailable:
		return "unavailable"
	default:
		return "unreachable"
	}
}

// Access is what is known of an origin's robots.txt. The zero value is an
// unreachable one. It is passed by value and never changed once handed out;
// Robots is shared between callers.
type Access struct {
	Result    Result
	Robots    *Robots   // non-nil exactly when Result is Successful
	URL       string    // the origin's own robots.txt URL
	FinalURL  string    // where redirects led; "" when there was none
	Status    int       // HTTP status of the last answer; 0 when there was none
	SHA256    string    // hex digest of the body that was parsed; "" when there is none
	Retrieved time.Time // when the answer came, or said that the copy at hand still holds; zero when none did
	MediaType string    // what the server says the file is, if not text/plain (RFC 9309 2.3): its rules apply all the same
	Stale     bool      // a copy past its freshness rules: the origin cannot be reached, or is just being asked
	Cause     string    // why the file is unreachable or unavailable, or a newer one is; for people; "" when nothing is amiss
	Retry     time.Time // when a failed retrieval will be tried again; zero when none failed
	// EgressDenied says that the origin's own address may not be dialled, so
	// that asking again cannot help. Only set on an Unreachable result.
	EgressDenied bool
	Own          bool // denied because heed itself listens there
}

// Settings are what a verdict depends on beside robots.txt and the target. The
// zero value has no token, so that only * groups rule, compares as RFC 9309
// says, and disallows both unreachable and unavailable origins.
type Settings struct {
	Profile       Profile  // how paths are compared; one that is not known disallows
	Tokens        []string // product tokens, most specific first; the first that has a group decides
	OnUnreachable Verdict  // Allow opens origins whose robots.txt cannot be had, against RFC 9309 2.3.1.4
	OnUnavailable Verdict  // Allow is what RFC 9309 2.3.1.3 permits, and heed's default
}

// Decide reaches the verdict on t. It is the only place where one is made of
// an access result: the proxy and heed check both come here. a may not be nil; it
// is neither changed nor kept.
func (s Settings) Decide(a *Access, t Target) Decision {
	d := Decision{Agent: first(s.Tokens)}
	switch {
	case t.IsRobotsTXT():
		d.Verdict, d.Reason = Allow, ReasonRobotsTXT
	case a.EgressDenied:
		d.Reason = ReasonEgressDenied
	case a.Result == Successful:
		return a.Robots.DecideUnder(s.Profile, s.Tokens, t)
	case a.Result == Unavailable:
		d.Verdict, d.Reason = grant(s.OnUnavailable), ReasonUnavailable
	default:
		d.Verdict, d.Reason = grant(s.OnUnreachable), ReasonUnreachable
	}
	return d
}

// Unrestricted reports the decision on a tunnel to an origin that cannot be
// read: allowed only where nothing at all is disallowed to the agent, so that
// whatever travels inside is harmless.
func (s Settings) Unrestricted(a *Access) Decision {
	d := Decision{Agent: first(s.Tokens), Reason: ReasonRestrictedTunnel}
	switch {
	case a.EgressDenied:
		d.Reason = ReasonEgressDenied
	case a.Result == Successful:
		robotsTXT, _ := ParseTarget(a.URL)
		return a.Robots.unrestricted(s.Profile, s.Tokens, robotsTXT.Origin)
	case a.Result == Unavailable:
		d.Verdict, d.Reason = grant(s.OnUnavailable), ReasonUnavailable
	default:
		d.Verdict, d.Reason = grant(s.OnUnreachable), ReasonUnreachable
	}
	return d
}

// grant keeps a setting from becoming anything but a plain yes or no.
func grant(v Verdict) Verdict {
	if v == Allow {
		return Allow
	}
	return Disallow
}
