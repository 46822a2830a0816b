package proxy

import (
	"fmt"
	"net/http"
	"time"

	"heed/policy"
)

// decide reaches the verdict on x.target and returns the refusal, or nil when
// the request is to be carried.
func (x *exchange) decide(r *http.Request) *http.Response {
	if x.p.wentThrough(r.Header) {
		return x.looped(r, errLoop)
	}
	var err error
	x.rec.Decision, x.rec.Access, err = x.rules.Decide(r.Context(), x.target)
	x.decided(err)
	if x.rec.Access.Own {
		return x.looped(r, errOwn)
	}
	if x.rec.Decision.Allowed() || x.rules.Monitor {
		return nil
	}
	return x.answer(r, x.disallowed())
}

// decided notes when the verdict was reached. err is why there is none: the client
// has left, or heed is stopping. In any other case it disallows, as unreachable.
func (x *exchange) decided(err error) {
	x.rec.Decided = time.Since(x.rec.Time)
	if err == nil {
		return
	}
	if x.gone() {
		x.abandon(err)
	}
	x.rec.Decision.Agent, x.rec.Access.Cause = x.rules.agent(), "robots.txt could not be asked for"
	x.rec.Err = err.Error()
}

// disallowed words the refusal of x.rec.Decision.
func (x *exchange) disallowed() refusal {
	d, a := x.rec.Decision, x.rec.Access
	ref := refusal{status: http.StatusForbidden, token: "http_request_denied", title: "Disallowed by robots.txt"}
	switch d.Reason {
	case policy.ReasonRule:
		ref.note = fmt.Sprintf("robots.txt line %d: %s", d.Line, d.Rule)
		ref.detail = fmt.Sprintf("Line %d of %s disallows this URL to %s: %s", d.Line, a.URL, whom(d), d.Rule)
		if d.DisallowedBy != "" {
			ref.detail += fmt.Sprintf(" (under profile %s, which %s asks)", d.DisallowedBy, d.Profile)
		}
	case policy.ReasonUnreachable:
		ref.title = "robots.txt is unreachable"
		ref.note = "robots.txt unreachable: " + a.Cause
		ref.detail = "The site's robots.txt could not be retrieved (" + a.Cause + "), and until it is, everything is disallowed (RFC 9309, section 2.3.1.4)"
		ref.retry = a.Retry
		if x.set.unreachable != 0 {
			ref.status = x.set.unreachable
		}
	case policy.ReasonUnavailable:
		ref.title = "robots.txt is unavailable"
		ref.note = "robots.txt unavailable: " + a.Cause
		ref.detail = "The site has no robots.txt to be had (" + a.Cause + "), and robots.on_unavailable is set to disallow"
		ref.retry = a.Retry
	case policy.ReasonRestrictedTunnel:
		ref.title = "Tunnel refused"
		ref.detail = tunnelDetail(d, x.target.Origin.Host)
	case policy.ReasonOverride:
		ref.title = "Disallowed by the operator"
		ref.detail = "An override of this proxy's configuration decides for " + x.target.Origin.Host + ": " + d.Override
	case policy.ReasonEgressDenied:
		ref.title = "Address not allowed"
		ref.token = "destination_ip_prohibited"
		ref.detail = deniedDetail(x.target.Origin)
	default:
		ref.detail = "Refused: " + string(d.Reason)
	}
	return ref
}

// tunnelDetail says why a tunnel is refused and how that can be changed.
func tunnelDetail(d policy.Decision, host string) string {
	change := "; let heed intercept " + host + " (https.mode: intercept, and not in https.tunnel_hosts) so that each request is judged, or set https.tunnel_policy: allow to open tunnels unchecked"
	if d.Rule == "" {
		return "Tunnels that heed cannot look into are refused by https.tunnel_policy" + change
	}
	return fmt.Sprintf("heed cannot look into this tunnel, and line %d of the site's robots.txt (%s) disallows a part of the site to %s%s", d.Line, d.Rule, whom(d), change)
}

// whom names the agents of the group that decided.
func whom(d policy.Decision) string {
	if d.Group == "*" {
		return "every agent without a group of its own"
	}
	return d.Group
}

// bad is the answer to a request that cannot be judged.
func (x *exchange) bad(r *http.Request, reason policy.Reason, err error) *http.Response {
	x.rec.Decision.Agent = x.rules.agent()
	x.fail(reason, err)
	return x.answer(r, refusal{status: http.StatusBadRequest, token: "http_request_error", title: http.StatusText(http.StatusBadRequest), detail: err.Error()})
}

// badRequest answers by itself, where goproxy is not asked.
func (x *exchange) badRequest(reason policy.Reason, err error) { x.deliver(x.bad(x.req, reason, err)) }
