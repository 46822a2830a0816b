package fetch_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"heed/fetch"
	"heed/policy"
)

// cut answers with less than it announced, and ends the connection.
func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	io.WriteString(w, first)
}

// What rules while an origin is in trouble, when it is asked again, and what is
// logged. Waits are between what is written and a quarter more.
func TestTrouble(t *testing.T) {
	hour := "Cache-Control: max-age=3600"
	down := reply(503, "")
	cases := []struct {
		name  string
		set   func(*fetch.Options)
		steps []step
	}{
		{"never seen: disallow, and try again after error_ttl", nil, []step{
			{0, down, "unreachable", "", 1, "access=unreachable|status=503|cause=\"status 503 Service Unavailable\"|failures=1|stale=false"},
			{29 * time.Second, nil, "unreachable", "", 1, ""},
			{10 * time.Second, nil, "unreachable", "", 2, "failures=2"},
			{59 * time.Second, nil, "unreachable", "", 2, ""},
			{20 * time.Second, reply(200, first), "successful", first, 3, "access=successful"}, // and recovers at once
		}},
		{"the wait doubles to an hour", nil, []step{
			{0, down, "unreachable", "", 1, ""},
			{38 * time.Second, nil, "unreachable", "", 2, ""},
			{75 * time.Second, nil, "unreachable", "", 3, ""},
			{150 * time.Second, nil, "unreachable", "", 4, ""},
			{5 * time.Minute, nil, "unreachable", "", 5, ""},
			{10 * time.Minute, nil, "unreachable", "", 6, ""},
			{20 * time.Minute, nil, "unreachable", "", 7, ""},
			{40 * time.Minute, nil, "unreachable", "", 8, ""},
			{time.Hour, nil, "unreachable", "", 9, ""},
			{time.Hour, nil, "unreachable", "", 10, "failures=10"},
			{45 * time.Minute, nil, "unreachable", "", 10, ""},
		}},
		{"Retry-After in seconds", nil, []step{
			{0, reply(503, "", "Retry-After: 600"), "unreachable", "", 1, "retry_in=10m0s"},
			{10*time.Minute - time.Second, nil, "unreachable", "", 1, ""},
			{2 * time.Second, nil, "unreachable", "", 2, ""},
		}},
		{"Retry-After with 429", nil, []step{
			{0, reply(429, "", "Retry-After: 600"), "unreachable", "", 1, "status=429|retry_in=10m0s"},
		}},
		{"Retry-After as a date, by the origin's clock", nil, []step{
			{0, reply(503, "", "Date: Sun, 06 Nov 1994 08:00:00 GMT", "Retry-After: Sun, 06 Nov 1994 08:20:00 GMT"), "unreachable", "", 1, "retry_in=20m0s"},
		}},
		{"Retry-After is not shorter than error_ttl", nil, []step{
			{0, reply(503, "", "Retry-After: 1"), "unreachable", "", 1, "retry_in=30s"},
		}},
		{"Retry-After is not longer than a day", nil, []step{
			{0, reply(503, "", "Retry-After: 99999999999999"), "unreachable", "", 1, "retry_in=24h0m0s"},
		}},
		{"Retry-After that is none", nil, []step{
			{0, reply(503, "", "Retry-After: soon"), "unreachable", "", 1, "retry_in=3"},
		}},
		{"the last good copy rules, marked stale, for stale_for", nil, []step{
			{0, reply(200, first, hour), "successful", first, 1, ""},
			{2 * time.Hour, down, "successful stale", first, 2, "access=unreachable|stale=true|failures=1"},
			{5 * time.Second, nil, "successful stale", first, 2, ""},
			{time.Minute, nil, "successful stale", first, 3, "failures=2"},
			{29 * 24 * time.Hour, nil, "successful stale", first, 4, ""},
			{24 * time.Hour, nil, "unreachable", "", 5, "stale=false"},
		}},
		{"a good copy that came back is not stale", nil, []step{
			{0, reply(200, first, hour), "successful", first, 1, ""},
			{2 * time.Hour, down, "successful stale", first, 2, ""},
			{time.Minute, reply(200, second, hour), "successful stale", first, 3, ""}, // asked in the background
			{time.Second, nil, "successful", second, 3, ""},
		}},
		{"no copy rules when stale_for is none", func(o *fetch.Options) { o.StaleFor = -1 }, []step{
			{0, reply(200, first, hour), "successful", first, 1, ""},
			{2 * time.Hour, down, "unreachable", "", 2, "stale=false"},
		}},
		{"a refresh that fails leaves a fresh copy fresh", nil, []step{
			{0, reply(200, first, hour), "successful", first, 1, ""},
			{55 * time.Minute, down, "successful", first, 2, ""},
			{time.Second, nil, "successful", first, 2, ""},
			{10 * time.Minute, nil, "successful stale", first, 3, ""},
		}},
		{"a body that breaks off is a failure, not a short file", nil, []step{
			{0, cut, "unreachable", "", 1, "access=unreachable|status=200|unexpected EOF"},
			{time.Minute, reply(200, second, hour), "successful", second, 2, ""},
			{2 * time.Hour, cut, "successful stale", second, 3, "stale=true"},
		}},
		{"206", nil, []step{{0, reply(206, first), "unreachable", "", 1, "status=206"}}},
		{"500", nil, []step{{0, reply(500, first), "unreachable", "", 1, "status=500"}}},
		{"401", nil, []step{{0, reply(401, ""), "unavailable", "", 1, "status=401|fresh_for=24h0m0s"}}},
		{"too many redirects", nil, []step{{0, func(w http.ResponseWriter, r *http.Request) {
			reply(302, "", "Location: "+r.URL.Path+"x")(w, r)
		}, "unreachable", "", 1, "more than 5 redirects"}}},
		{"a loop", nil, []step{{0, reply(307, "", "Location: /robots.txt"), "unreachable", "", 1, "loop"}}},
		{"to a private address", nil, []step{{0, reply(308, "", "Location: http://10.0.0.1/robots.txt"), "unreachable", "", 1, "egress.allow"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { play(t, c.set, c.steps) })
	}
}

func TestContentCodings(t *testing.T) {
	pack := func(w func(io.Writer) io.WriteCloser) func(string) string {
		return func(body string) string {
			var b strings.Builder
			c := w(&b)
			io.WriteString(c, body)
			c.Close()
			return b.String()
		}
	}
	codings := []struct {
		name, field string
		pack        func(string) string
	}{
		{"gzip", "gzip", zipped},
		{"zlib", "deflate", pack(func(w io.Writer) io.WriteCloser { return zlibWriter(w) })},
		{"bare deflate", "deflate", pack(func(w io.Writer) io.WriteCloser { return flateWriter(w) })},
		{"brotli", "br", pack(func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) })},
		{"zstd", "zstd", pack(func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
			if err != nil {
				t.Fatal(err)
			}
			return z
		})},
	}
	var long string // which does not shrink as a bomb does
	for i := range 4000 {
		long += fmt.Sprintf("Disallow: /%06d\n", i*7919%1_000_000)
	}
	for _, c := range codings {
		serveBody := func(body string) policy.Origin {
			return serve(t, reply(200, body, "Content-Encoding: "+c.field))
		}
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t, func(o *fetch.Options) { o.MaxSize = 50 << 10 })
			if a := access(t, s, serveBody(c.pack(first))); a.SHA256 != digest(first) {
				t.Errorf("decoded: got %+v", a)
			}
			// The bound counts after decoding.
			if a := access(t, s, serveBody(c.pack(long))); a.SHA256 != digest(long[:(50<<10)/18*18]) {
				t.Errorf("cut: got %+v", a)
			}
			packed := c.pack(first)
			for name, body := range map[string]string{"cut short": packed[:len(packed)-3], "more than its end": packed + "x", "noise": "\x00\x01noise"} {
				if a := access(t, s, serveBody(body)); a.Result != policy.Unreachable || a.Status != 200 {
					t.Errorf("%s: got %+v, want unreachable", name, a)
				}
			}
			bomb := c.pack(strings.Repeat("\x00", 16<<20))
			if a := access(t, s, serveBody(bomb)); a.Result != policy.Unreachable {
				t.Errorf("bomb of %d octets: got %+v, want unreachable", len(bomb), a)
			}
		})
	}
}

// utf16 is s, in ASCII, after a byte order mark.
func utf16(s string, big bool) string {
	var b strings.Builder
	for _, r := range "\ufeff" + s {
		hi, lo := byte(r>>8), byte(r)
		if big {
			b.Write([]byte{hi, lo})
		} else {
			b.Write([]byte{lo, hi})
		}
	}
	return b.String()
}

func TestCharsetsAndTypes(t *testing.T) {
	cases := []struct {
		name, contentType, body string
		label, is               string // MediaType; what it is instead
		rules                   bool   // /first is disallowed
	}{
		{"UTF-8", "text/plain; charset=utf-8", first, "", "", true},
		{"UTF-8 with a byte order mark", "text/plain", "\ufeff" + first, "", "", true},
		{"UTF-16, little end first", "text/plain", utf16(first, false), "", "", true},
		{"UTF-16, big end first", "text/plain", utf16(first, true), "", "", true},
		{"no type", "", first, "", "", true},
		{"a type that cannot be read", "text/", first, "", "", true},
		{"a proper file as HTML", "text/html; charset=utf-8", first, "text/html", "", true},
		{"a proper file as octets", "application/octet-stream", first, "application/octet-stream", "", true},
		{"a proper file as JSON", "application/json", first, "application/json", "", true},
		{"a page", "text/html", "<!DOCTYPE html><html><body>Not here</body></html>", "text/html", "HTML", false},
		{"a page as plain text", "text/plain", "<html><body>Not here</body></html>", "", "HTML", false},
		{"a page with rules in it", "text/html", "<!DOCTYPE html>\n<pre>\n" + first + "</pre>", "text/html", "HTML", false},
		{"a page in UTF-16 with rules in it", "text/html", utf16("<html>\n"+first, true), "text/html", "HTML", false},
		{"XML with rules in it", "text/plain", "<?xml version='1.0'?>\n<e>\n" + first + "</e>", "", "XML", false},
		{"JSON", "application/json", `{"error": "not found"}`, "application/json", "JSON", false},
		{"an image", "image/png", "\x89PNG\x0D\x0A\x1A\x0A\x00\x00\x00\rIHDR\n" + first, "image/png", "an image", false},
		{"binary as plain text", "text/plain", "\x00\x01\x02\x03" + strings.Repeat("\x00\xff", 50) + "\n" + first, "", "binary data", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var log strings.Builder
			o := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Type"] = nil
				if c.contentType != "" {
					w.Header().Set("Content-Type", c.contentType)
				}
				io.WriteString(w, c.body)
			})
			a := access(t, newStore(t, func(f *fetch.Options) { f.Log = textLog(&log) }), o)
			if a.Result != policy.Successful || a.MediaType != c.label || (a.Robots.Foreign() != "") != (c.is != "") || !strings.HasPrefix(a.Robots.Foreign(), c.is) {
				t.Errorf("got %+v, which is %q; want successful, called %q, and %q", a, a.Robots.Foreign(), c.label, c.is)
			}
			d := a.Robots.Decide([]string{"bot"}, policy.Target{Origin: o, Path: "/first"})
			if d.Allowed() == c.rules {
				t.Errorf("/first: %+v; rules apply: %v", d, c.rules)
			}
			for attr, want := range map[string]string{" type=": c.label, " not_robots=": c.is} {
				if said := strings.Contains(log.String(), attr); said != (want != "") || !strings.Contains(log.String(), want) {
					t.Errorf("%s%q: log: %s", attr, want, &log)
				}
			}
		})
	}
}

func TestUTF16IsCutAtItsOwnLines(t *testing.T) {
	// U+0A0D and U+0D0A hold the octets of line ends and are none.
	for _, big := range []bool{false, true} {
		body := utf16(first+"Disallow: /\u0a0d\u0d0a", big) + strings.Repeat(utf16("x", big)[2:], 100)
		s := newStore(t, func(o *fetch.Options) { o.MaxSize = int64(len(utf16(first, big))) + 30 })
		a := access(t, s, serve(t, reply(200, body)))
		want := utf16(strings.TrimSuffix(first, "\n"), big)
		if a.SHA256 != digest(want) {
			t.Errorf("big end first %v: got %+v, want the first two lines", big, a)
		}
	}
}

// Each report of a fault in other tools that concerns retrieval, and what heed
// does (facts of robots.txt).
func TestFaultsOfOtherTools(t *testing.T) {
	other := serve(t, reply(404, ""))
	ruled := reply(200, "User-agent: *\nDisallow: /\n")
	cases := []struct {
		name   string
		answer http.HandlerFunc
		want   policy.Result
	}{
		{"StormCrawler 1042: 5xx is no rules", reply(500, ""), policy.Unreachable},
		{"kreuzcrawl 44: a connection that breaks allows", func(w http.ResponseWriter, _ *http.Request) {
			c, _, _ := http.NewResponseController(w).Hijack()
			c.Close()
		}, policy.Unreachable},
		{"StormCrawler 2077: a redirect across hosts allows all", reply(302, "", "Location: "+serve(t, ruled).RobotsURL()), policy.Successful},
		{"servo-fetch 113: 404 denies", reply(404, ""), policy.Unavailable},
		{"xagent 2043: 301 is no rules", reply(301, "", "Location: "+serve(t, ruled).String()+"/elsewhere"), policy.Successful},
		{"429 allows", reply(429, ""), policy.Unreachable},
		{"redirects that do not end allow", reply(301, "", "Location: /robots.txt"), policy.Unreachable},
		{"a page under 200 shuts the site", reply(200, "<html></html>"), policy.Successful},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := serve(t, c.answer)
			s := newStore(t, nil)
			a := access(t, s, o)
			if a.Result != c.want {
				t.Errorf("got %+v, want %s", a, c.want)
			}
			// StormCrawler 573, NUTCH-2581: the target of a redirect has rules of its
			// own; kreuzcrawl 44, colly 39: so has another port of the same host.
			if a := access(t, s, other); a.Result != policy.Unavailable || a.URL != other.RobotsURL() {
				t.Errorf("another port: got %+v, want its own", a)
			}
		})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if a := access(t, newStore(t, nil), originOf(t, "http://"+l.Addr().String())); a.Result != policy.Unreachable {
		t.Errorf("Scrapy, Nutch and others: a failure of the network allows: got %+v", a)
	}
}
