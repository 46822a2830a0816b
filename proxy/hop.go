package proxy

import (
	"net/http"
	"net/textproto"
	"strings"
)

// hopFields belong to one connection and are never passed on (RFC 9110 7.6.1).
// Upgrade and TE are dealt with apart.
var hopFields = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Transfer-Encoding", "Http2-Settings",
}

// scrubRequest removes what concerns only the client's connection. An upgrade
// to WebSocket survives, and so does "TE: trailers".
func scrubRequest(h http.Header) {
	upgrade := ""
	if listed(h["Connection"], "upgrade") && listed(h["Upgrade"], "websocket") {
		upgrade = "websocket"
	}
	trailers := listed(h["Te"], "trailers")
	removeHop(h)
	h.Del("Te")
	h.Del("Upgrade")
	if trailers {
		h["Te"] = []string{"trailers"}
	}
	if upgrade != "" {
		h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{upgrade}
	}
}

// scrubResponse removes what concerns only the origin's connection, and what
// could be taken for heed's own word.
func scrubResponse(res *http.Response, intercepted bool) {
	h := res.Header
	upgrade := h["Upgrade"]
	removeHop(h)
	if res.StatusCode == http.StatusSwitchingProtocols {
		h["Connection"], h["Upgrade"] = []string{"Upgrade"}, upgrade
	} else {
		h.Del("Upgrade")
	}
	if intercepted {
		// It would lead clients around the proxy (RFC 7838).
		h.Del("Alt-Svc")
	}
	if status := h["Proxy-Status"]; status != nil {
		if status = foreignStatus(status); status == nil {
			h.Del("Proxy-Status")
		} else {
			h["Proxy-Status"] = status
		}
	}
	if h["Content-Type"] == nil {
		h["Content-Type"] = nil // present without a value: net/http does not guess one
	}
}

func removeHop(h http.Header) {
	for _, value := range h["Connection"] {
		for name := range strings.SplitSeq(value, ",") {
			switch name = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)); name {
			case "", "Host", "Content-Length", "Te", "Upgrade", "Connection":
				// Framing and routing are not the sender's to remove.
			default:
				delete(h, name)
			}
		}
	}
	for _, name := range hopFields {
		delete(h, name)
	}
}

// listed reports whether a comma-separated field holds token, in any case.
func listed(values []string, token string) bool {
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(item), token) {
				return true
			}
		}
	}
	return false
}
