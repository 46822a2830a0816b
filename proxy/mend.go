package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strings"
)

// misread reports an answer that net/http accepts although others would read it
// otherwise: with a status code that is none, or with a framing field that net/http
// overlooks for the white space before its colon.
func misread(res *http.Response) error {
	if res.StatusCode < 100 {
		return fmt.Errorf("status code %03d", res.StatusCode)
	}
	for name := range res.Header {
		switch textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)) {
		case name:
		case "Content-Length", "Transfer-Encoding":
			return errors.New("white space before the colon of " + strings.TrimSpace(name))
		}
	}
	return nil
}

// mendFields removes white space before the colon (RFC 9112 5.1). net/http would
// keep the whole field from the client.
func mendFields(h http.Header) {
	for name, values := range h {
		if trimmed := strings.TrimSpace(name); trimmed != name {
			delete(h, name)
			trimmed = textproto.CanonicalMIMEHeaderKey(trimmed)
			h[trimmed] = append(h[trimmed], values...)
		}
	}
}
