package audit

import (
	"net/netip"
	"strconv"
	"time"

	"heed/policy"
	"heed/proxy"
)

// timeFormat is RFC 3339 with all nine digits, so that the times of UTC sort as
// text.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// Append appends r as one JSON object, without a newline, and returns the
// extended buffer. query is as Options.Query. What is absent is left out;
// enforced, intercepted, request_bytes, response_bytes and duration_ms are
// always there. r is not changed.
func Append(dst []byte, r *proxy.Record, query string) []byte {
	d := &r.Decision
	dst = append(dst, '{')
	dst = appendTime(dst, "time", r.Time)
	dst = appendText(dst, "id", r.ID)
	dst = appendText(dst, "event", string(r.Event))
	dst = appendClient(dst, r.Client)
	dst = appendText(dst, "user", r.User)
	dst = appendNumber(dst, "client_entry", r.ClientEntry)
	dst = appendText(dst, "agent", d.Agent)
	dst = appendText(dst, "method", r.Method)
	dst = appendText(dst, "url", cleanURL(r.URL, query))
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
	dst = appendText(dst, "error", cleanText(r.Err, r.URL, query))
	return append(dst, '}')
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

// appendClient writes an IPv4 client of a dual-stack listener as IPv4.
func appendClient(dst []byte, client netip.AddrPort) []byte {
	if !client.IsValid() {
		return dst
	}
	client = netip.AddrPortFrom(client.Addr().Unmap(), client.Port())
	var text [64]byte
	return appendText(dst, "client", string(client.AppendTo(text[:0])))
}

func appendTime(dst []byte, key string, t time.Time) []byte {
	if t.IsZero() {
		return dst
	}
	dst = append(appendKey(dst, key), '"')
	dst = t.UTC().AppendFormat(dst, timeFormat)
	return append(dst, '"')
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

// appendMillis always writes a decimal point, so that a reader which guesses
// the type of a field from its first value guesses right.
func appendMillis(dst []byte, key string, d time.Duration) []byte {
	return strconv.AppendFloat(appendKey(dst, key), float64(d)/float64(time.Millisecond), 'f', 3, 64)
}
