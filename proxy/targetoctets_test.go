package proxy_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"heed/policy"
)

// requestLines notes the first line of each request.
func requestLines(lines chan<- string) func(net.Conn) {
	return func(c net.Conn) {
		head, _ := readHead(c)
		line, _, _ := strings.Cut(head, "\r\n")
		lines <- line
		_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
	}
}

// What is sent is what was judged, octet by octet.
func TestTargetOctetsArriveUnchanged(t *testing.T) {
	lines := make(chan string, 1)
	plain, secure, cert := rawServers(t, requestLines(lines))
	h := start(t, robots{}, []*httptest.Server{cert})
	over2 := h.leg2(t, secure)
	for _, target := range []string{
		"/", "/a%2Fb", "/a%2fb", "//a//b", "/a|b", "/a\"b<>", "/ツ", "/a;b,c=d", "/?", "/??a=b?", "/a?q=%zz&r=|", "/%7Ejoe", "/a/../b", "/a/./b",
		"/a%2e%2e/b", "/[x]", "/$*!'()", "/a\\b", "/^`{}", "/a?x=\"y\"", "/a+b%20c", "/:80/x", "/http://h/x", "/a%00b", "/\xff\xfe", "/a?\xff",
		// url.URL cannot hold this one in origin form; the absolute form means the same.
		"//a|b",
	} {
		for _, p := range paths {
			t.Run(fmt.Sprintf("%q, %s", target, p.name), func(t *testing.T) {
				url := map[bool]string{false: plain, true: secure}[p.secure]
				status := ""
				if p.http2 {
					f, err := over2.ask(get2(target)...)
					if err != nil {
						t.Fatal(err)
					}
					status = f.PseudoValue("status")
				} else {
					l := h.leg(url)
					l.send("GET " + l.prefix)
					_, _ = io.WriteString(l, target)
					l.send(" HTTP/1.1\r\nHost: #\r\n\r\n")
					res, _ := l.answer("GET")
					status = fmt.Sprint(res.StatusCode)
				}
				if status != "204" {
					t.Fatalf("status %s", status)
				}
				want := "GET " + target + " HTTP/1.1"
				if target == "//a|b" {
					want = "GET " + url + target + " HTTP/1.1"
				}
				if got := <-lines; got != want {
					t.Errorf("origin got %q, want %q", got, want)
				}
			})
		}
	}
	// An empty path is "/" (RFC 9110 4.2.3).
	for sent, want := range map[string]string{plain + "?s=1": "/?s=1", plain: "/", secure + "?": "/?"} {
		origin, _, _ := strings.Cut(sent, "?")
		l := h.leg(origin)
		l.send("GET " + sent + " HTTP/1.1\r\nHost: #\r\n\r\n")
		if res, _ := l.answer("GET"); res.StatusCode != 204 {
			t.Errorf("%s: %d", sent, res.StatusCode)
			continue
		}
		if got := <-lines; got != "GET "+want+" HTTP/1.1" {
			t.Errorf("%s: the origin got %q", sent, got)
		}
	}
}

// What net/http does not read never reaches an origin, and over HTTP/2 it ends the
// stream and no other.
func TestTargetsThatAreNotReadOverHTTP2(t *testing.T) {
	asked := make(chan string, 1)
	_, secure := origins(t, func(_ http.ResponseWriter, r *http.Request) { asked <- r.RequestURI })
	h := start(t, robots{}, []*httptest.Server{secure})
	for _, target := range []string{"/a%zz", "/100%", "/x%", "", "x", "/a b", "/a\x00b", "/a\r\nX: y", "/a\x7fb"} {
		l := h.leg2(t, secure.URL)
		f, err := l.ask(get2(target)...)
		if err == nil && f.PseudoValue("status") != "400" {
			t.Errorf("%q: %s", target, f.PseudoValue("status"))
		}
		if f, err := l.ask(get2("/next")...); err != nil || f.PseudoValue("status") != "200" {
			t.Errorf("the stream after %q: %v %v", target, f, err)
		}
		if got := <-asked; got != "/next" {
			t.Errorf("%q: the origin was asked for %q", target, got)
		}
	}
}

// A refusal of an origin's own is not heed's: nothing in it speaks in heed's name,
// whatever it was made to look like.
func TestOriginsOwnRefusal(t *testing.T) {
	for _, status := range []int{403, 407, 421, 429, 451, 502, 503} {
		for _, w := range ways() {
			h, url := w.serve(t, robots{all: disallowPrivate}, func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Proxy-Status", `heed; error=http_request_denied; details="robots.txt line 2: Disallow: /private/", cdn`)
				rw.Header().Set("Proxy-Authenticate", `Basic realm="heed"`)
				rw.Header().Set("Retry-After", "7")
				rw.WriteHeader(status)
				_, _ = io.WriteString(rw, "go away")
			})
			res, body := get(t, h.client(w.http2), url+"/x")
			if res.StatusCode != status || body != "go away" || strings.Join(res.Header["Proxy-Status"], "|") != "cdn" || res.Header["Proxy-Authenticate"] != nil ||
				res.Header.Get("Retry-After") != "7" {
				t.Errorf("%s, %d: %d %q %v", w.name, status, res.StatusCode, body, res.Header)
			}
			if r := recorded(h, 1); r.Decision.Verdict != policy.Allow || r.Status != status {
				t.Errorf("%s: record %+v", w.name, r)
			}
		}
	}
}
