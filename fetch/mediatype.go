package fetch

import (
	"mime"
	"net/http"
	"strings"
)

// maxMediaType bounds a text that an origin chose.
const maxMediaType = 80

// mediaType returns what body is, if it is not plain text (RFC 9309 2.3), and ""
// if it is. What the octets look like counts first: a page under text/plain is a
// page, while many a proper file is served as text/html or without a type.
func mediaType(header http.Header, body []byte) string {
	if len(body) == 0 {
		return ""
	}
	looks, _, _ := strings.Cut(http.DetectContentType(body), ";")
	if looks != "text/plain" {
		return looks
	}
	said, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || strings.HasPrefix(said, "text/") || said == "application/octet-stream" {
		return ""
	}
	return strings.ToValidUTF8(said[:min(len(said), maxMediaType)], "")
}
