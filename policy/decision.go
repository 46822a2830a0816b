package policy

import "fmt"

// Verdict is the outcome of a decision. The zero value disallows.
type Verdict uint8

// The verdicts. Error stands for an exchange that came to no answer of the
// origin's: a bad request, an upstream failure, a limit.
const (
	Disallow Verdict = iota
	Allow
	Error
)

// String returns "disallow", "allow" or "error"; any other value reads as
// "disallow", because that is how it is treated.
func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Error:
		return "error"
	default:
		return "disallow"
	}
}

// MarshalText writes the verdict as String does.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (v *Verdict) UnmarshalText(text []byte) error {
	switch string(text) {
	case "allow":
		*v = Allow
	case "disallow":
		*v = Disallow
	case "error":
		*v = Error
	default:
		return fmt.Errorf("verdict %q: want allow, disallow or error", text)
	}
	return nil
}

// Reason says why a verdict was reached. Its text is part of the audit record
// and of the metrics, so the values never change their meaning.
type Reason string

// Reasons of a decision on robots.txt.
const (
	ReasonRule        Reason = "rule"        // a rule of the selected group decided
	ReasonNoRule      Reason = "no-rule"     // the group has no rule that matches
	ReasonNoGroup     Reason = "no-group"    // no group names the agent, and there is no * group
	ReasonRobotsTXT   Reason = "robots-txt"  // the target is /robots.txt itself (RFC 9309 2.2.2)
	ReasonUnavailable Reason = "unavailable" // robots.txt answered 4xx (2.3.1.3)
	ReasonUnreachable Reason = "unreachable" // robots.txt cannot be had (2.3.1.4)
)

// Reasons that concern an exchange rather than a rule.
const (
	ReasonUnchecked          Reason = "unchecked"           // a tunnel was opened unread, by setting
	ReasonUnrestrictedTunnel Reason = "unrestricted-tunnel" // a tunnel to an origin that disallows the agent nothing
	ReasonRestrictedTunnel   Reason = "restricted-tunnel"   // a tunnel that cannot be proved harmless
	ReasonEgressDenied       Reason = "egress-denied"       // the target's own address may not be dialled
	ReasonOverride           Reason = "override"            // the operator decided, whatever robots.txt says
	ReasonAuth               Reason = "auth"                // the client did not prove who it is
	ReasonHostMismatch       Reason = "host-mismatch"       // Host differs from the CONNECT authority
	ReasonBadRequest         Reason = "bad-request"         // the request is malformed
	ReasonLimit              Reason = "limit"               // a limit of heed's own was reached
	ReasonUpstream           Reason = "upstream"            // the origin did not answer, or broke off
	ReasonInternal           Reason = "internal"            // a fault of heed's own
)

// A Decision is a verdict and what led to it. The zero value disallows.
type Decision struct {
	Verdict Verdict
	Reason  Reason
	Agent   string  // configured token that selected the group; for * or no group, the first token
	Group   string  // token as configured, or "*"; "" when no group was selected
	Rule    string  // the deciding line's own text, such as "Disallow: /private/"; "" when no rule decided
	Line    int     // 1-based line of Rule; 0 when no rule decided
	Profile Profile // "" when no path was compared
	// DisallowedBy is, under Strictest, the profile that disallowed.
	DisallowedBy Profile
	// Override is the operator's exception that decided, or that changed what
	// was asked; "" when there was none.
	Override string
}

// Allowed reports whether the request may be carried.
func (d Decision) Allowed() bool { return d.Verdict == Allow }
