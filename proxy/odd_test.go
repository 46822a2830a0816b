package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"heed/policy"
	"heed/proxy"
)

// Nothing is carried that is not a path or a URL of the tunnel's origin, and what
// is carried is what was judged.
func TestOddTargets(t *testing.T) {
	long := "/" + strings.Repeat("x", 64<<10)
	for _, tc := range []struct {
		name, method, target, version string
		plain, inside                 int
		asks                          string // what the origin sees
	}{
		{"opaque", "GET", "https:opaque", "1.1", 400, 400, ""},
		{"opaque path", "GET", "https:/private/x", "1.1", 400, 400, ""},
		{"other scheme", "GET", "foo:bar", "1.1", 400, 400, ""},
		{"asterisk", "GET", "*", "1.1", 400, 400, ""},
		{"OPTIONS *", "OPTIONS", "*", "1.1", 400, 200, "OPTIONS *"},
		{"OPTIONS of an origin", "OPTIONS", "@@", "1.1", 200, 200, "OPTIONS *"},
		{"OPTIONS of the root", "OPTIONS", "@@/", "1.1", 200, 200, "OPTIONS /"},
		{"OPTIONS of a query", "OPTIONS", "@@?", "1.1", 200, 200, "OPTIONS /?"},
		{"TRACE", "TRACE", "@/x", "1.1", 200, 200, "TRACE /x"},
		{"lower-case method", "get", "@/x", "1.1", 200, 200, "get /x"},
		{"lower-case method, disallowed", "get", "@/private/x", "1.1", 403, 403, ""},
		{"lower-case CONNECT", "connect", "h.example:443", "1.1", 400, 400, ""},
		{"unknown method", "FROB", "@/x", "1.1", 200, 200, "FROB /x"},
		{"preface of HTTP/2", "PRI", "*", "2.0", 400, 400, ""},
		{"HTTP/2 in the open", "GET", "@/x", "2.0", 505, 505, ""},
		{"HTTP/0.9", "GET", "@/x", "0.9", 505, 505, ""},
		{"8 KiB", "GET", "@" + long[:8<<10], "1.1", 200, 200, "GET " + long[:8<<10]},
		{"64 KiB", "GET", "@" + long, "1.1", 200, 200, "GET " + long},
		{"64 KiB, malformed", "GET", "@" + long + "%zz", "1.1", 400, 400, ""},
		{"NUL", "GET", "@/a\x00b", "1.1", 400, 400, ""},
		{"control character", "GET", "@/a\x01b", "1.1", 400, 400, ""},
		{"not UTF-8", "GET", "@/\xff\xfe", "1.1", 200, 200, "GET /\xff\xfe"},
		{"backslash after the host", "GET", `@@\private`, "1.1", 400, 400, ""},
	} {
		for _, p := range paths[:2] {
			t.Run(tc.name+", "+p.name, func(t *testing.T) {
				asked := make(chan string, 1)
				plain, secure := origins(t, func(_ http.ResponseWriter, r *http.Request) { asked <- r.Method + " " + r.RequestURI })
				origin := p.of(plain, secure)
				// net/http's servers answer "OPTIONS *" by themselves otherwise.
				origin.Config.DisableGeneralOptionsHandler = true
				h := start(t, robots{all: disallowPrivate}, []*httptest.Server{secure})
				l := h.leg(origin.URL)
				l.send(tc.method + " " + strings.ReplaceAll(tc.target, "@@", origin.URL) + " HTTP/" + tc.version + "\r\nHost: #\r\n\r\n")
				want := tc.plain
				if p.secure {
					want = tc.inside
				}
				res, body := l.answer(tc.method)
				if res.StatusCode != want {
					t.Fatalf("%d %s, want %d", res.StatusCode, body, want)
				}
				if want != 200 && res.Header.Get("Proxy-Status") == "" {
					t.Error("the answer is not explained")
				}
				if want == 200 {
					if got := <-asked; got != tc.asks {
						t.Errorf("the origin was asked for %.100q, want %.100q", got, tc.asks)
					}
				}
				r := recorded(h, 1)
				if r.Status != want || (r.Decision.Verdict == policy.Allow) != (want == 200) {
					t.Errorf("record %.2000v", r)
				}
			})
		}
	}
}

func TestOddFields(t *testing.T) {
	for _, tc := range []struct {
		name, field string
		status      int
		want        string // of X as the origin sees it
	}{
		{"not UTF-8", "X: \xff\xfe", 200, "\xff\xfe"},
		{"NUL", "X: a\x00b", 400, ""},
		{"bare CR", "X: a\rb", 400, ""},
		{"folded", "X: a\r\n b", 200, "a b"},
		{"no colon", "X", 400, ""},
		{"empty name", ": x", 400, ""},
		{"two lengths", "Content-Length: 1\r\nContent-Length: 2", 400, ""},
		{"negative length", "Content-Length: -1", 400, ""},
		{"signed length", "Content-Length: +1", 400, ""},
		{"hidden coding", "Transfer-Encoding: xchunked", 501, ""},
		{"two codings", "Transfer-Encoding: gzip, chunked", 501, ""},
		{"coding twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 501, ""},
	} {
		for _, p := range paths[:2] {
			t.Run(tc.name+", "+p.name, func(t *testing.T) {
				asked := make(chan string, 1)
				plain, secure := origins(t, func(_ http.ResponseWriter, r *http.Request) { asked <- r.Header.Get("X") })
				h := start(t, robots{}, []*httptest.Server{secure})
				l := h.leg(p.of(plain, secure).URL)
				l.send("GET @/x HTTP/1.1\r\nHost: #\r\n" + tc.field + "\r\n\r\n")
				res, body := l.answer("GET")
				if res.StatusCode != tc.status {
					t.Fatalf("%d %s, want %d", res.StatusCode, body, tc.status)
				}
				if tc.status == 200 {
					if got := <-asked; got != tc.want {
						t.Errorf("the origin got %q, want %q", got, tc.want)
					}
				} else if res.Header.Get("Proxy-Status") == "" {
					t.Error("the answer is not explained")
				}
				if r := recorded(h, 1); r.Status != tc.status {
					t.Errorf("record %+v", r)
				}
			})
		}
	}
}

func TestOddConnects(t *testing.T) {
	_, secure := origins(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	host := strings.TrimPrefix(secure.URL, "https://")
	h := start(t, robots{}, []*httptest.Server{secure})
	for _, request := range []string{
		"CONNECT # HTTP/1.0\r\n\r\n",
		"CONNECT # HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n", // RFC 9110 9.3.6: the target counts
		"CONNECT # HTTP/1.1\r\nHost: #\r\nContent-Length: 0\r\nProxy-Authorization: x\r\nConnection: close\r\n\r\n",
	} {
		l := &leg{Conn: h.dialRaw(), t: t, host: host}
		l.send(request)
		// RFC 9110 9.3.6: an answer that opens a tunnel has no framing.
		if head, err := readHead(l); err != nil || head != "HTTP/1.1 200 Connection established\r\n\r\n" {
			t.Fatalf("%q: %q %v", request, head, err)
		}
		res := exchangeRaw(t, h.secure(l, "127.0.0.1"), "GET", "GET /x HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
		if res.StatusCode != 200 {
			t.Errorf("%q: %d", request, res.StatusCode)
		}
	}
	h.wait(3)
	for n, request := range []string{
		"CONNECT # HTTP/1.1\r\nHost: #\r\nContent-Length: 5\r\n\r\nhello",
		"CONNECT # HTTP/1.1\r\nHost: #\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"CONNECT #/x HTTP/1.1\r\nHost: #\r\n\r\n",
		"CONNECT HTTP/1.1\r\nHost: #\r\n\r\n",
		"CONNECT *:443 HTTP/1.1\r\nHost: #\r\n\r\n",
		"CONNECT h\x00:443 HTTP/1.1\r\nHost: #\r\n\r\n",
	} {
		l := &leg{t: t, host: host}
		l.Conn = h.dialRaw()
		l.send(request)
		res := exchangeRaw(t, l, "CONNECT", "")
		explained(t, res, 400, "http_request_error")
		if r := recorded(h, 4+n); r.Method != "CONNECT" || r.Status != 400 {
			t.Errorf("%q: record %+v", request, r)
		}
	}
}

// Over HTTP/2 the target has its own fields; what contradicts the tunnel is
// refused or has no effect.
func TestOddTargetsOverHTTP2(t *testing.T) {
	asked := make(chan string, 1)
	_, secure := origins(t, func(_ http.ResponseWriter, r *http.Request) { asked <- r.Host + " " + r.RequestURI })
	authority := strings.TrimPrefix(secure.URL, "https://")
	h := start(t, robots{all: disallowPrivate}, []*httptest.Server{secure})
	for n, tc := range []struct {
		name   string
		fields [][2]string
		status string
		asks   string
	}{
		{"as it should be", [][2]string{{":authority", authority}, {":path", "/x"}}, "200", "/x"},
		{"Host beside :authority", [][2]string{{":authority", authority}, {":path", "/x"}, {"host", "evil.example"}}, "200", "/x"},
		{"Host alone", [][2]string{{":path", "/x"}, {"host", authority}}, "200", "/x"},
		{"Host of another origin alone", [][2]string{{":path", "/x"}, {"host", "evil.example"}}, "400", ""},
		{"opaque path", [][2]string{{":authority", authority}, {":path", "foo:bar"}}, "400", ""},
		{"asterisk", [][2]string{{":authority", authority}, {":path", "*"}}, "400", ""},
		{"absolute path", [][2]string{{":authority", authority}, {":path", "https://evil.example/x"}}, "400", ""},
		{"two slashes", [][2]string{{":authority", authority}, {":path", "//evil.example/x"}}, "200", "//evil.example/x"},
		{"disallowed", [][2]string{{":authority", authority}, {":path", "/private/x"}, {"host", authority}}, "403", ""},
		{"other scheme", [][2]string{{":authority", authority}, {":scheme", "http"}, {":path", "/private/x"}}, "403", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := h2Status(t, h.secureH2(h.tunnel(authority), "127.0.0.1"), tc.fields...); got != tc.status {
				t.Errorf("status %s, want %s", got, tc.status)
			}
			if tc.asks != "" {
				if got := <-asked; got != authority+" "+tc.asks {
					t.Errorf("the origin was asked for %q", got)
				}
			}
			r := recorded(h, n+1)
			if fmt.Sprint(r.Status) != tc.status || r.Event != proxy.EventExchange || !strings.HasPrefix(r.URL, secure.URL) && r.Decision.Verdict != policy.Error {
				t.Errorf("record %+v", r)
			}
		})
	}
}
