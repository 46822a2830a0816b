package policy_test

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"heed/policy"
)

// shut disallows everything to everybody, were it read.
const shut = "\nUser-agent: *\nDisallow: /\n"

func utf16Of(s string, order binary.AppendByteOrder, mark bool) string {
	var b []byte
	if mark {
		b = order.AppendUint16(b, 0xfeff)
	}
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

// What is another type has no rules, even where a line looks like one.
var foreignBodies = map[string]string{
	"<!DOCTYPE html>\n<pre>" + shut:                                     "HTML",
	"<!doctype HTML PUBLIC \"-//IETF//DTD HTML//EN\">" + shut:           "HTML",
	"\ufeff \r\n\t<HTML lang=en>" + shut:                                "HTML",
	"<html>" + shut:                                                     "HTML",
	"<head><title>Not found</title></head>" + shut:                      "HTML",
	"<body\n>" + shut:                                                   "HTML",
	"<!-- a -->\n<!-- b\nc --> <html>" + shut:                           "HTML",
	utf16Of("<!DOCTYPE html>"+shut, binary.LittleEndian, true):          "HTML",
	"<?xml version=\"1.0\"?>\n<Error>" + shut + "</Error>":              "XML",
	"<urlset>" + shut:                                                   "XML",
	"<!-- a --><svg>" + shut:                                            "XML",
	"{\"User-agent\": \"*\",\n\"Disallow\": \"/\"}":                     "JSON",
	"[\n \"Disallow: /\"\n]":                                            "JSON",
	"{\"cut\": \"at the limi":                                           "JSON",
	"%PDF-1.7\n" + shut:                                                 "PDF",
	"PK\x03\x04\x14\x00" + shut:                                         "a ZIP archive",
	"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + shut:                        "an image",
	"GIF89a\x61\x00\x01\x00" + shut:                                     "an image",
	"\xff\xd8\xff\xe0\x00\x10JFIF" + shut:                               "an image",
	"\x1f\x8b\x08\x00" + shut:                                           "compressed data",
	"\x28\xb5\x2f\xfd\x24" + shut:                                       "compressed data",
	"\x7fELF\x02\x01\x01" + shut:                                        "a program",
	"\x00\x01\x02\x03\x04binary" + shut:                                 "binary data, or UTF-16 without its byte order mark",
	strings.Repeat("\x00\xff", 600) + shut:                              "binary data, or UTF-16 without its byte order mark",
	utf16Of("User-agent: *\nDisallow: /\n", binary.LittleEndian, false): "binary data, or UTF-16 without its byte order mark",
	"<p>Not here</p>\n":                                                 "markup",
	"<?php echo 'User-agent: *'; ?>":                                    "PHP source",
	"HTTP/1.1 404 Not Found\r\nServer: x\r\n\r\n":                       "an HTTP response",
}

func TestAnotherTypeHasNoRules(t *testing.T) {
	for body, want := range foreignBodies {
		r := policy.Parse([]byte(body))
		if got := r.Foreign(); got != want {
			t.Errorf("%.60q: %q, want %q", body, got, want)
		}
		for _, p := range policy.Profiles() {
			if d := r.DecideUnder(p, []string{"bot"}, policy.Target{Path: "/x"}); !d.Allowed() || d.Reason != policy.ReasonNoGroup {
				t.Errorf("%.60q under %s: %+v, want no group", body, p, d)
			}
		}
		for rec := range r.Records() {
			t.Errorf("%.60q: has the record %+v", body, rec)
		}
		checkForeign(t, []byte(body))
	}
}

// What merely has something in front, or octets that a text has not, keeps its
// rules: to drop them would open what is shut.
func TestSpoiltFilesKeepTheirRules(t *testing.T) {
	for _, body := range []string{
		shut, "\ufeff" + shut, "# <html>" + shut, "Sitemap: https://h.example/s.xml" + shut,
		"<script src=\"/cdn.js\"></script>" + shut,
		"<!-- made by hand -->" + shut,
		"<!-- not ended" + shut,
		"<?php header('Content-Type: text/plain'); ?>" + shut,
		"<header>" + shut, "<xml>" + shut,
		"{robots}" + shut, "[robots]" + shut,
		"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r" + shut,
		"# a NUL\x00 in a comment" + shut,
		"\x1b[0m\x1b[1m" + shut,
		shut + strings.Repeat("\x00", 4096), // a file of fixed size
		"\x80\x81\x82" + shut, "\xff\xfb\xfa" + shut,
		shut + "<!DOCTYPE html><html></html>",
		utf16Of(shut, binary.LittleEndian, true), utf16Of(shut, binary.BigEndian, true),
	} {
		r := policy.Parse([]byte(body))
		if got := r.Foreign(); got != "" {
			t.Errorf("%.60q: is %q, want a robots.txt", body, got)
		}
		if d := r.Decide([]string{"bot"}, policy.Target{Path: "/x"}); d.Allowed() {
			t.Errorf("%.60q: %+v, want its rules", body, d)
		}
		checkForeign(t, []byte(body))
	}
	var none *policy.Robots
	if policy.Parse(nil).Foreign() != "" || none.Foreign() != "" {
		t.Error("nothing is something else")
	}
}

// checkForeign checks that Parse and Lint agree on what is no robots.txt, and
// that JSON is none.
func checkForeign(t *testing.T, body []byte) {
	t.Helper()
	foreign := policy.Parse(body).Foreign()
	said, other := false, 0
	for _, f := range policy.Lint(body) {
		if f.Code == "not-robots" {
			said = strings.Contains(f.Message, foreign)
		} else if !slices.Contains([]string{"bom", "utf16"}, f.Code) {
			other++
		}
	}
	if said != (foreign != "") || foreign != "" && other > 0 {
		t.Errorf("%.200q: %q, of which Lint says %v and %d things more", body, foreign, said, other)
	}
	if start := strings.TrimLeft(string(body), " \t\r\n"); json.Valid(body) && strings.ContainsAny(start[:1], "{[") && foreign != "JSON" {
		t.Errorf("%.200q: %q, want JSON", body, foreign)
	}
}

func FuzzForeign(f *testing.F) {
	seedFiles(f, func(body []byte, _ string) { f.Add(body) })
	for body := range foreignBodies {
		f.Add([]byte(body))
	}
	f.Fuzz(checkForeign)
}
