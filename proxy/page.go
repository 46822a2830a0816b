package proxy

import (
	_ "embed"
	"html/template"
	"io"
	"mime"
	"strconv"
	"strings"
)

//go:embed page.html
var pageSource string

var page = template.Must(template.New("page").Parse(pageSource))

// renderPage writes p for a person. The template is our own and its data are
// plain values, so the only error is the writer's.
func renderPage(w io.Writer, p problem) { _ = page.Execute(w, p) }

// prefersHTML reports whether an Accept field asks for HTML rather than JSON
// (RFC 9110 12.5.1). Without a preference the answer is for programs.
func prefersHTML(accept []string) bool {
	if len(accept) == 0 {
		return false
	}
	var html, json quality
	for _, item := range members(strings.Join(accept, ",")) {
		media, params, err := mime.ParseMediaType(item)
		if err != nil {
			continue
		}
		q := 1.0
		if s, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(s, 64); err != nil || q < 0 || q > 1 {
				continue
			}
		}
		switch media {
		case "text/html":
			html.offer(3, q)
		case "application/problem+json", "application/json":
			json.offer(3, q)
		case "text/*":
			html.offer(2, q)
		case "application/*":
			json.offer(2, q)
		case "*/*":
			html.offer(1, q)
			json.offer(1, q)
		}
	}
	return html.q > json.q
}

// quality is the weight of a media type; the most specific range sets it.
type quality struct {
	specific int
	q        float64
}

func (v *quality) offer(specific int, q float64) {
	if specific > v.specific || specific == v.specific && q > v.q {
		v.specific, v.q = specific, q
	}
}
