package proxy

import (
	"net/http"
	"net/textproto"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// hopFields belong to one connection and are never passed on (RFC 9110 7.6.1,
// 11.7). Upgrade and TE are dealt with apart.
var hopFields = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info",
	"Proxy-Authorization", "Transfer-Encoding", "Http2-Settings",
}

// scrubRequest removes what concerns only the client's connection. An upgrade
// to WebSocket survives, and so does "TE: trailers".
func scrubRequest(r *http.Request) {
	h := r.Header
	// RFC 9110 7.8: HTTP/1.0 has no Upgrade; a WebSocket's request has no body (RFC 6455 4.1).
	upgrade := r.ProtoAtLeast(1, 1) && r.ContentLength == 0 && listed(h["Connection"], "upgrade") && listed(h["Upgrade"], "websocket")
	trailers := listed(h["Te"], "trailers")
	removeHop(h)
	h.Del("Te")
	h.Del("Upgrade")
	if trailers {
		h["Te"] = []string{"trailers"}
	}
	if upgrade {
		switchToWebSocket(h)
	}
}

// switchToWebSocket makes a scrubbed header one that switches to WebSocket, and to nothing else.
func switchToWebSocket(h http.Header) {
	h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{"websocket"}
}

// scrubResponse removes what concerns only the origin's connection, and what
// could be taken for heed's own word, from the header of an answer, an interim
// answer or the trailer.
func scrubResponse(h http.Header, intercepted bool) {
	mendFields(h)
	removeHop(h)
	h.Del("Upgrade")
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
}

// scrubTrailer removes what may not stand in a trailer: framing, routing and what
// must be known before the content (RFC 9110 6.5.1).
func scrubTrailer(h http.Header) {
	removeHop(h)
	for name := range h {
		if !httpguts.ValidTrailerHeader(name) {
			delete(h, name)
		}
	}
}

// removeHop deletes the fields of one connection and those that it names.
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
