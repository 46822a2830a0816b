package audit

import (
	"strconv"
	"time"

	"heed/policy"
	"heed/proxy"
)

// Append appends r as one JSON object, without a newline, and returns the
// extended buffer. query is as Options.Query. What is absent is left out;
// enforced, intercepted, request_bytes, response_bytes and duration_ms are
// always there. r is not changed.
func Append(dst []byte, r *proxy.Record, query string) []byte {
	return append((&encoder{query: query}).append(dst, r), '}')
}

// append appends r without the closing brace, so that members may follow.
func (e *encoder) append(dst []byte, r *proxy.Record) []byte {
	d, query := &r.Decision, e.query
	dst = append(dst, '{')
	dst = appendTime(dst, "time", r.Time)
	dst = appendText(dst, "id", r.ID)
	dst = appendText(dst, "event", string(r.Event))
	dst = e.appendClient(dst, r.Client)
	dst = appendText(dst, "user", r.User)
	dst = appendNumber(dst, "client_entry", r.ClientEntry)
	dst = appendText(dst, "agent", d.Agent)
	dst = appendText(dst, "method", r.Method)
	dst = e.appendURL(dst, r.URL)
	dst = appendText(dst, "verdict", d.Verdict.String())
	dst = appendText(dst, "reason", string(d.Reason))
	dst = appendText(dst, "group", d.Group)
	dst = appendText(dst, "rule", d.Rule)
	dst = appendNumber(dst, "line", d.Line)
	dst = appendText(dst, "profile", string(d.Profile))
	dst = appendText(dst, "disallowed_by", string(d.DisallowedBy))
	dst = appendRobots(dst, &r.Access, query)
	dst = appendText(dst, "override", d.Override)
	dst = strconv.AppendBool(appendKey(dst, "enforced"), r.Enforced)
	dst = strconv.AppendBool(appendKey(dst, "intercepted"), r.Intercepted)
	dst = appendNumber(dst, "status", r.Status)
	dst = strconv.AppendInt(appendKey(dst, "request_bytes"), r.RequestBytes, 10)
	dst = strconv.AppendInt(appendKey(dst, "response_bytes"), r.ResponseBytes, 10)
	dst = appendMillis(dst, "duration_ms", r.Duration)
	return appendText(dst, "error", e.cleanError(r))
}

// appendRobots appends the robots.txt that was asked, if one was. A false stale
// is absent, as everything beside enforced and intercepted that is not so.
func appendRobots(dst []byte, a *policy.Access, query string) []byte {
	if a.URL == "" {
		return dst
	}
	dst = append(appendKey(dst, "robots"), '{')
	dst = appendText(dst, "url", cleanURL(a.URL, query))
	dst = appendText(dst, "final_url", cleanURL(a.FinalURL, query))
	dst = appendNumber(dst, "status", a.Status)
	dst = appendText(dst, "sha256", a.SHA256)
	dst = appendTime(dst, "retrieved", a.Retrieved)
	if a.Stale {
		dst = append(appendKey(dst, "stale"), "true"...)
	}
	return append(dst, '}')
}

func appendTime(dst []byte, key string, t time.Time) []byte {
	if t.IsZero() {
		return dst
	}
	dst = append(appendKey(dst, key), '"')
	return append(appendRFC3339(dst, t.UTC()), '"')
}

func appendText(dst []byte, key, value string) []byte {
	if value == "" {
		return dst
	}
	return appendString(appendKey(dst, key), value)
}

func appendNumber(dst []byte, key string, n int) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(appendKey(dst, key), int64(n), 10)
}
