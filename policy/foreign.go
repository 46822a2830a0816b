package policy

import "strings"

// Foreign names what the body was instead of a robots.txt, such as "HTML", for
// people; "" if it may be one, as an empty body may. What has a name here has no
// rules and no records. The type that a server gives has no say: what a body is
// shows in the body. A nil Robots has none.
func (r *Robots) Foreign() string {
	if r == nil {
		return ""
	}
	return r.foreign.String()
}

// A kind is what a body is. The zero value is a robots.txt.
type kind uint8

const (
	proper kind = iota
	html
	xml
	markup
	jsonText
	php
	httpResponse
	pdf
	zip
	image
	compressed
	program
	binaryData
)

// String names what is no robots.txt.
func (k kind) String() string {
	return [...]string{"", "HTML", "XML", "markup", "JSON", "PHP source", "an HTTP response", "PDF", "a ZIP archive", "an image",
		"compressed data", "a program", "binary data, or UTF-16 without its byte order mark"}[k]
}

// A sign is how something other than a robots.txt begins, in lower case.
type sign struct {
	start string
	kind  kind
}

// What begins like this is what it says, whatever its lines look like.
var documents = []sign{
	{"<!doctype", html}, {"<html", html}, {"<head", html}, {"<body", html},
	{"<?xml", xml}, {"<rss", xml}, {"<feed", xml}, {"<urlset", xml}, {"<sitemapindex", xml}, {"<svg", xml},
	{"%pdf-", pdf}, {"pk\x03\x04", zip},
	{"\x89png\r\n", image}, {"gif87a", image}, {"gif89a", image}, {"\xff\xd8\xff", image}, {"\x00\x00\x01\x00", image},
	{"\x1f\x8b", compressed}, {"\x28\xb5\x2f\xfd", compressed}, {"\xfd7zxz\x00", compressed},
	{"\x7felf", program}, {"\x00asm", program},
}

// What begins like this may be a robots.txt that something was put in front of,
// such as the script of a CDN, and is one if rules are read from it. JSON never
// has a line that is one.
var fronts = []sign{
	{"<?php", php}, {"<!--", html}, {"<", markup}, {"{", jsonText}, {"[", jsonText}, {"http/1.", httpResponse},
}

// foreign returns what the text is.
func (r *reading) foreign() kind {
	start := strings.TrimLeft(r.text, whiteSpace)
	if k := begins(uncommented(start), documents); k != proper {
		return k
	}
	if notText(r.lead()) {
		return binaryData
	}
	if k := begins(start, fronts); k != proper && !r.ruled() {
		return k
	}
	return proper
}

const whiteSpace = " \t\r\n\v\f"

// begins returns what text is by how it begins. A tag that goes on is another:
// <header is not <head.
func begins(text string, signs []sign) kind {
	for _, s := range signs {
		n := len(s.start)
		if len(text) < n || !sameASCII(text[:n], s.start) {
			continue
		}
		if len(text) == n || s.start[0] != '<' || !letter(s.start[n-1]) || !letter(text[n]) {
			return s.kind
		}
	}
	return proper
}

// sameASCII compares octets, ignoring the case of ASCII letters. lower is in
// lower case.
func sameASCII(text, lower string) bool {
	for i := range len(lower) {
		c := text[i]
		if letter(c) {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// uncommented returns text without the comments of HTML that it begins with.
func uncommented(text string) string {
	for strings.HasPrefix(text, "<!--") {
		_, after, ended := strings.Cut(text, "-->")
		if !ended {
			return text
		}
		text = strings.TrimLeft(after, whiteSpace)
	}
	return text
}

// lead returns the text before the first agent line, or its beginning. It is
// where binary data shows: what a file has there rules nobody, while a proper one
// that is filled up with NULs keeps its rules.
func (r *reading) lead() string {
	const most = 1024
	end := len(r.text)
	if len(r.blocks) > 0 {
		end = int(r.blocks[0].at)
	}
	return r.text[:min(end, most)]
}

// notText reports whether one octet in ten is a control character that no text
// has.
func notText(s string) bool {
	n := 0
	for i := range len(s) {
		if c := s[i]; c < ' ' && !lineEnd(c) && !blank(c) && c != 0x1b {
			n++
		}
	}
	return n*10 > len(s)
}

// ruled reports whether a group has a rule that can match.
func (r *reading) ruled() bool {
	for i := range r.blocks {
		rec := r.block(i)
		for rec.next() {
			if rec.key != agentKey && pathLike(rec.value()) {
				return true
			}
		}
	}
	return false
}
