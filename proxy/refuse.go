package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"heed/policy"
)

// refusal is an answer of heed's own.
type refusal struct {
	status int
	token  string // Proxy-Status error type (RFC 9209 2.3)
	title  string // what happened, a few words
	detail string // the whole story, a sentence or two
	note   string // details parameter of Proxy-Status; detail when ""
	retry  time.Time
}

// problem is the body (RFC 9457). What is empty is left out.
type problem struct {
	Type     string         `json:"type"`
	Title    string         `json:"title"`
	Status   int            `json:"status"`
	Detail   string         `json:"detail"`
	Instance string         `json:"instance,omitempty"`
	Agent    string         `json:"agent,omitempty"`
	Group    string         `json:"group,omitempty"`
	Rule     string         `json:"rule,omitempty"`
	Line     int            `json:"line,omitempty"`
	Reason   policy.Reason  `json:"reason"`
	Override string         `json:"override,omitempty"`
	Robots   *problemRobots `json:"robots,omitempty"`
}

type problemRobots struct {
	URL       string     `json:"url"`
	FinalURL  string     `json:"final_url,omitempty"`
	Status    int        `json:"status,omitempty"`
	SHA256    string     `json:"sha256,omitempty"`
	Retrieved *time.Time `json:"retrieved,omitempty"`
	Stale     bool       `json:"stale,omitempty"`
	Cause     string     `json:"cause,omitempty"`
}

const (
	typeRobots = "https://www.rfc-editor.org/rfc/rfc9309"
	typeBlank  = "about:blank" // RFC 9457 4.2.1: nothing beyond the status code
)

// answer builds the response to r: problem details, or HTML where the client
// prefers it. The exchange's decision must be set.
func (x *exchange) answer(r *http.Request, ref refusal) *http.Response {
	if x.upload != nil && !x.upload.whole() {
		_ = x.upload.Close()
		x.limitDrain(x.p.headerTimeout)
	}
	p := x.problem(ref)
	var body bytes.Buffer
	contentType := "application/problem+json"
	if prefersHTML(r.Header["Accept"]) {
		contentType = "text/html; charset=utf-8"
		renderPage(&body, p)
	} else {
		enc := json.NewEncoder(&body)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(p) // a struct of strings and numbers always encodes
	}
	h := http.Header{
		"Content-Type":   {contentType},
		"Content-Length": {strconv.Itoa(body.Len())},
		"Cache-Control":  {"no-store"},
		"Proxy-Status":   {proxyStatus(ref)},
		"Vary":           {"Accept"},
	}
	if contentType != "application/problem+json" {
		h["Content-Security-Policy"] = []string{"default-src 'none'; style-src 'unsafe-inline'"}
		h["X-Content-Type-Options"] = []string{"nosniff"}
	}
	if s := retryAfter(ref.retry); s != "" {
		h["Retry-After"] = []string{s}
	}
	return &http.Response{
		Status:        strconv.Itoa(ref.status) + " " + http.StatusText(ref.status),
		StatusCode:    ref.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        h,
		Body:          io.NopCloser(&body),
		ContentLength: int64(body.Len()),
		Request:       r,
	}
}

// refuse answers by itself, where goproxy is not asked.
func (x *exchange) refuse(ref refusal) { x.deliver(x.answer(x.req, ref)) }

func (x *exchange) problem(ref refusal) problem {
	d := x.rec.Decision
	p := problem{
		Type: typeBlank, Title: ref.title, Status: ref.status, Detail: ref.detail, Instance: x.rec.URL,
		Agent: d.Agent, Group: d.Group, Rule: d.Rule, Line: d.Line, Reason: d.Reason, Override: d.Override,
	}
	if d.Verdict == policy.Disallow && d.Reason != policy.ReasonEgressDenied && d.Reason != policy.ReasonOverride {
		p.Type = typeRobots
	}
	if a := x.rec.Access; a.URL != "" {
		if a.EgressDenied {
			a.Cause = "" // it names the address
		}
		p.Robots = &problemRobots{URL: a.URL, FinalURL: a.FinalURL, Status: a.Status, SHA256: a.SHA256, Stale: a.Stale, Cause: a.Cause}
		if !a.Retrieved.IsZero() {
			at := a.Retrieved.UTC()
			p.Robots.Retrieved = &at
		}
	}
	return p
}

// retryAfter returns delay-seconds (RFC 9110 10.2.3) until t, at least one, and
// "" when t is zero.
func retryAfter(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	seconds := int((time.Until(t) + time.Second - 1) / time.Second)
	return strconv.Itoa(max(seconds, 1))
}
