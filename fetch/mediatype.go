package fetch

import (
	"mime"
	"net/http"
	"strings"
)

// maxMediaType bounds a text that an origin chose.
const maxMediaType = 80

// MediaType returns what a server says its robots.txt is, if that is not plain
// text (RFC 9309 2.3); "" also where it says nothing that can be read. It changes
// nothing but what people are told: many a proper file is served as text/html,
// and many a page as text/plain.
func MediaType(header http.Header) string {
	said, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || said == "text/plain" {
		return ""
	}
	return strings.ToValidUTF8(said[:min(len(said), maxMediaType)], "")
}
