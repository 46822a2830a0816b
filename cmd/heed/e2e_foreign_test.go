//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"heed/internal/testtool"
)

// oddBodies are answers to /robots.txt that are none, or say that they are none.
var oddBodies = []struct {
	name, media, body string
	is                string // what it is instead
	allowed           bool
}{
	{"page", "text/html", "<!DOCTYPE html>\n<pre>\nUser-agent: *\nDisallow: /\n</pre>", "HTML", true},
	{"page as text", "text/plain", "\ufeff\n<html>\nUser-agent: *\nDisallow: /\n", "HTML", true},
	{"JSON", "application/json", `{"error": "not found"}`, "JSON", true},
	{"XML", "application/xml", "<?xml version=\"1.0\"?>\n<Error>\nUser-agent: *\nDisallow: /\n</Error>", "XML", true},
	{"binary", "", "\x00\x01\x02\x03\nUser-agent: *\nDisallow: /\n", "binary data", true},
	{"file as a page", "text/html", "User-agent: *\nDisallow: /\n", "", false},
	{"file as JSON", "application/json", "User-agent: *\nDisallow: /\n", "", false},
	{"file", "text/plain; charset=utf-8", "User-agent: *\nDisallow: /\n", "", false},
}

// What is no robots.txt has no rules and is called so, by the proxy, by heed
// check and lint, and by heed robots, also after a restart with a store and to
// the rest of a fleet.
func TestWhatIsNoRobotsTXTHasNoRules(t *testing.T) {
	stores := map[string]func() string{
		"file":  func() string { return "file:" + filepath.Join(t.TempDir(), "robots.db") },
		"redis": func() string { return "redis://" + testtool.StartRedis(t).Addr },
	}
	for store, url := range stores {
		t.Run(store, func(t *testing.T) {
			var sites []*site
			for _, c := range oddBodies {
				sites = append(sites, newSite(t, false, false, "", func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/robots.txt" {
						return
					}
					w.Header()["Content-Type"] = nil
					if c.media != "" {
						w.Header().Set("Content-Type", c.media)
					}
					_, _ = io.WriteString(w, c.body)
				}))
			}
			settings := "HEED_ROBOTS_STORE=" + url()
			checkOddBodies(t, sites, startProcess(t, sites, settings, "HEED_ROBOTS_STORE_TIMEOUT=5s"), true)
			checkOddBodies(t, sites, startProcess(t, sites, settings, "HEED_ROBOTS_STORE_TIMEOUT=5s"), false)
		})
	}
}

// checkOddBodies asks p for a page of each site, and ends it. first says that it
// has to ask for each robots.txt.
func checkOddBodies(t *testing.T, sites []*site, p *process, first bool) {
	t.Helper()
	client := p.client(false)
	for i, c := range oddBodies {
		label, _, _ := strings.Cut(c.media, ";")
		if label == "text/plain" {
			label = ""
		}
		want := map[bool]int{true: 200, false: 403}[c.allowed]
		if a, err := fetchURL(client, sites[i].URL+"/x"); err != nil || a.status != want {
			t.Errorf("%s: status %d %v, want %d", c.name, a.status, err, want)
		}
		if n := sites[i].count("/robots.txt"); n != 1 {
			t.Errorf("%s: asked for %d times, want once", c.name, n)
		}
		shown, code := heedRobots(p, "show", "--json", sites[i].URL)
		checkFlags(t, c.name+", heed robots show", shown, c.is, label)
		listed, _ := heedRobots(p, "show", sites[i].URL)
		if code != exitOK || c.is != "" && !strings.Contains(listed, "not robots  "+c.is) || label != "" && !strings.Contains(listed, label) {
			t.Errorf("%s: heed robots show: %d %s", c.name, code, listed)
		}
		if first {
			checkLogLine(t, c.name, p.log(), sites[i].URL, c.is, label)
		}
	}
	if err := p.terminate(); err != nil {
		t.Errorf("exit: %v", err)
	}
}

// checkFlags looks for both flags in a JSON object, or in its member robots.
func checkFlags(t *testing.T, what, line, is, label string) {
	t.Helper()
	var got record
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatalf("%s: %q: %v", what, line, err)
	}
	if inner, ok := got["robots"].(map[string]any); ok {
		got = inner
	}
	instead, _ := got["not_robots"].(string)
	media, _ := got["type"].(string)
	if media != label || (instead != "") != (is != "") || !strings.HasPrefix(instead, is) {
		t.Errorf("%s: type %q, not_robots %q; want %q and %q", what, media, instead, label, is)
	}
}

func checkLogLine(t *testing.T, name, log, origin, is, label string) {
	t.Helper()
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `msg="robots.txt fetched" origin=`+origin+" ") {
			continue
		}
		if strings.Contains(line, " type=") != (label != "") || !strings.Contains(line, label) ||
			strings.Contains(line, " not_robots=") != (is != "") || !strings.Contains(line, is) {
			t.Errorf("%s: log line %s, want type %q and not_robots %q", name, line, label, is)
		}
		return
	}
	t.Errorf("%s: no log line of %s in %s", name, origin, log)
}

// heed check, against a site and against a file, and heed lint agree with the
// proxy.
func TestCheckAndLintKnowWhatIsNoRobotsTXT(t *testing.T) {
	for _, c := range oddBodies {
		label, _, _ := strings.Cut(c.media, ";")
		if label == "text/plain" {
			label = ""
		}
		origin := newSite(t, false, false, "", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			if c.media != "" {
				w.Header().Set("Content-Type", c.media)
			}
			_, _ = io.WriteString(w, c.body)
		})
		file := writeFile(t, c.body)
		want := map[bool]int{true: exitOK, false: exitDisallow}[c.allowed]
		for _, robots := range [][]string{nil, {"--robots", file}} {
			var out, people bytes.Buffer
			e := env{stdout: &out, stderr: &out, environ: []string{"HEED_EGRESS_ALLOW=127.0.0.0/8"}}
			code := run(append([]string{"check", "--json", origin.URL + "/x"}, robots...), e)
			said := label
			if robots != nil {
				said = "" // nobody served it
			}
			checkFlags(t, c.name+", heed check", out.String(), c.is, said)
			e.stdout = &people
			run(append([]string{"check", "--explain", origin.URL + "/x"}, robots...), e)
			if code != want || c.is != "" && !strings.Contains(people.String(), "instead of a robots.txt there is "+c.is) || !strings.Contains(people.String(), said) {
				t.Errorf("%s: heed check %v: exit %d, want %d: %s", c.name, robots, code, want, people.String())
			}
		}
		for _, what := range []string{file, origin.URL} {
			var out bytes.Buffer
			run([]string{"lint", "--json", what}, env{stdout: &out, stderr: &out, environ: []string{"HEED_EGRESS_ALLOW=127.0.0.0/8"}})
			if said := strings.Contains(out.String(), `"not-robots"`); said != (c.is != "") {
				t.Errorf("%s: heed lint %s: %s", c.name, what, out.String())
			}
			if said := strings.Contains(out.String(), `"media-type"`); said != (label != "" && what != file) {
				t.Errorf("%s: heed lint %s: label %q: %s", c.name, what, label, out.String())
			}
		}
	}
}
