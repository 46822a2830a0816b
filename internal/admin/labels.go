package admin

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"heed/policy"
)

// other stands for what is not in a fixed set, so that no label can take a value
// of a stranger's making.
const other = "other"

// outcome is the pair of labels of heed_requests_total.
type outcome struct {
	verdict policy.Verdict
	reason  policy.Reason
}

// reasons are the reasons each verdict is known to have. Any other comes under
// other.
var reasons = map[policy.Verdict][]policy.Reason{
	policy.Allow: {
		policy.ReasonRule, policy.ReasonNoRule, policy.ReasonNoGroup, policy.ReasonRobotsTXT,
		policy.ReasonUnavailable, policy.ReasonUnreachable, policy.ReasonUnchecked, policy.ReasonUnrestrictedTunnel,
		policy.ReasonOverride,
	},
	policy.Disallow: {
		policy.ReasonRule, policy.ReasonUnreachable, policy.ReasonUnavailable,
		policy.ReasonRestrictedTunnel, policy.ReasonEgressDenied, policy.ReasonOverride,
	},
	policy.Error: {
		policy.ReasonHostMismatch, policy.ReasonBadRequest, policy.ReasonLimit,
		policy.ReasonUpstream, policy.ReasonInternal, policy.ReasonAuth,
	},
}

// failureTypes are the error types of RFC 9209 2.3 that concern the way to an
// origin. http_request_denied is not one: that is heed's own answer, and counted
// as a request that was disallowed.
var failureTypes = []string{
	"dns_timeout", "dns_error",
	"destination_not_found", "destination_unavailable", "destination_ip_prohibited", "destination_ip_unroutable",
	"connection_refused", "connection_terminated", "connection_timeout", "connection_read_timeout",
	"connection_write_timeout", "connection_limit_reached",
	"tls_protocol_error", "tls_certificate_error", "tls_alert_received",
	"http_response_incomplete", "http_response_header_section_size", "http_response_header_size",
	"http_response_body_size", "http_response_trailer_section_size", "http_response_trailer_size",
	"http_response_transfer_coding", "http_response_content_coding", "http_response_timeout",
	"http_upgrade_failed", "http_protocol_error", "proxy_loop_detected", "proxy_configuration_error",
}

func outcomeOf(d policy.Decision) outcome {
	verdict := d.Verdict
	if _, ok := reasons[verdict]; !ok { // as policy treats it
		verdict = policy.Disallow
	}
	if slices.Contains(reasons[verdict], d.Reason) {
		return outcome{verdict, d.Reason}
	}
	return outcome{verdict, other}
}

// failureLabel returns "" for what is no failure on the way to an origin.
func failureLabel(kind string) string {
	switch {
	case kind == "" || kind == "http_request_denied":
		return ""
	case slices.Contains(failureTypes, kind):
		return kind
	default:
		return other
	}
}

// The counters below are all made at the start: a series that begins at 0 shows
// its first increase, and the path of a request need not look anything up by
// its text.

func requestCounters(v *prometheus.CounterVec) map[outcome]prometheus.Counter {
	m := map[outcome]prometheus.Counter{}
	for verdict, list := range reasons {
		for _, reason := range append(slices.Clone(list), other) {
			m[outcome{verdict, reason}] = v.WithLabelValues(verdict.String(), string(reason))
		}
	}
	return m
}

func failureCounters(v *prometheus.CounterVec) map[string]prometheus.Counter {
	m := map[string]prometheus.Counter{}
	for _, kind := range append(slices.Clone(failureTypes), other) {
		m[kind] = v.WithLabelValues(kind)
	}
	return m
}

func lookupCounters(v *prometheus.CounterVec) map[string]prometheus.Counter {
	m := map[string]prometheus.Counter{}
	for _, result := range []string{"hit", "stale", "miss", "store"} {
		m[result] = v.WithLabelValues(result)
	}
	return m
}

func fetchCounters(v *prometheus.CounterVec) map[policy.Result]prometheus.Counter {
	m := map[policy.Result]prometheus.Counter{}
	for _, r := range []policy.Result{policy.Unreachable, policy.Unavailable, policy.Successful} {
		m[r] = v.WithLabelValues(r.String())
	}
	return m
}
