package proxy

import (
	"bytes"
	_ "embed"
	"html"
	"mime"
	"strconv"
	"strings"
)

//go:embed page.html
var pageFrame string

// renderPage writes p for a person. Everything that is not heed's own is escaped.
// No template is executed: html/template would keep the linker from leaving out
// what nothing calls, which is a third of the binary.
func renderPage(w *bytes.Buffer, p problem) {
	title := html.EscapeString(p.Title)
	head, foot, _ := strings.Cut(strings.NewReplacer("@STATUS@", strconv.Itoa(p.Status), "@TITLE@", title).Replace(pageFrame), "@BODY@")
	w.WriteString(head)
	w.WriteString("<p>" + html.EscapeString(p.Detail) + "</p>\n")
	if p.Rule != "" {
		w.WriteString("<pre>" + html.EscapeString(p.Rule) + "</pre>\n")
	}
	w.WriteString("<dl>\n")
	pageItem(w, "Requested", code(p.Instance))
	agent := code(p.Agent)
	if p.Agent != "" && p.Group != "" {
		agent += ", ruled by group " + code(p.Group)
	}
	pageItem(w, "Agent", agent)
	if p.Robots != nil {
		pageItem(w, "robots.txt", pageRobots(p))
	}
	pageItem(w, "Reason", code(string(p.Reason)))
	w.WriteString("</dl>\n")
	w.WriteString(foot)
}

func pageRobots(p problem) string {
	r := p.Robots
	text := code(r.URL)
	if p.Line > 0 {
		text += ", line " + strconv.Itoa(p.Line)
	}
	if r.FinalURL != "" {
		text += "<br>redirected to " + code(r.FinalURL)
	}
	if r.Cause != "" {
		text += "<br>" + html.EscapeString(r.Cause)
	}
	if r.Retrieved != nil {
		text += "<br>retrieved " + r.Retrieved.Format("2006-01-02 15:04:05 UTC")
	}
	if r.Stale {
		text += " (an older copy: the site cannot be reached)"
	}
	return text
}

// pageItem writes a term and what is known of it, already escaped; nothing when
// nothing is.
func pageItem(w *bytes.Buffer, term, escaped string) {
	if escaped != "" {
		w.WriteString("<dt>" + term + "</dt><dd>" + escaped + "</dd>\n")
	}
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "<code>" + html.EscapeString(s) + "</code>"
}

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
