package proxy

import (
	"errors"
	"net/http"
	"strings"

	"heed/policy"
)

// addVia says that a message went through this proxy (RFC 9110 7.6.3). major and
// minor are the version in which it was received. The pseudonym is drawn anew at
// each start: it finds a loop and tells nobody which machine this is.
func (p *Proxy) addVia(h http.Header, major, minor int) {
	version := "1.1"
	switch {
	case major == 2:
		version = "2"
	case major == 1 && minor == 0:
		version = "1.0"
	}
	h["Via"] = append(h["Via"], version+" "+p.pseudonym)
}

// wentThrough reports whether a Via field names this proxy.
func (p *Proxy) wentThrough(h http.Header) bool {
	for _, value := range h["Via"] {
		for entry := range strings.SplitSeq(value, ",") {
			// received-protocol RWS received-by [ RWS comment ]
			if words := strings.Fields(entry); len(words) > 1 && strings.EqualFold(words[1], p.pseudonym) {
				return true
			}
		}
	}
	return false
}

var (
	errLoop = errors.New("the request has been through this heed before (Via)")
	errOwn  = errors.New("the request is for one of heed's own listeners")
)

// looped is the answer to a request that would go round in circles. It is refused
// in monitor mode, too.
func (x *exchange) looped(r *http.Request, err error) *http.Response {
	const kind = "proxy_loop_detected"
	x.rec.ErrKind = kind
	x.fail(policy.ReasonUpstream, err)
	return x.answer(r, refusal{
		status: http.StatusBadGateway, token: kind, title: "Proxy loop",
		detail: x.target.Origin.Authority() + ": " + err.Error() + ", and would go round in circles",
	})
}
