package proxy_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"heed/policy"
	"heed/proxy"
)

// Every spelling of a target has the verdict of the canonical one, or is a bad
// request; and an origin is only ever asked for what was judged.
func TestSpellingsOfATarget(t *testing.T) {
	asked := make(chan string, 100)
	plain, _ := origins(t, func(_ http.ResponseWriter, r *http.Request) { asked <- r.Host + " " + r.RequestURI })
	port := plain.URL[strings.LastIndex(plain.URL, ":")+1:]
	h := start(t, robots{all: "User-agent: *\nDisallow: /private\n"}, nil)
	for _, tc := range []struct {
		target string
		status int    // for /private
		host   string // Host that the origin sees for /public
	}{
		{"http://h.example:" + port, 403, "h.example:" + port},
		{"HTTP://H.EXAMPLE.:" + port, 403, "h.example:" + port},
		{"http://H.Example:0" + port, 403, "h.example:" + port},
		{"http://bücher.example:" + port, 403, "xn--bcher-kva.example:" + port},
		{"http://B%C3%BCcher.example:" + port, 400, ""},
		{"http://127.0.0.1:" + port, 403, "127.0.0.1:" + port},
		{"http://[::1]:" + port, 403, ""},
		{"http://[h.example]:" + port, 400, ""},
		{"http://[127.0.0.1]:" + port, 400, ""},
		{"http://[::1%25lo]:" + port, 400, ""},
		{"http://::1:" + port, 400, ""},
		{"http://2130706433:" + port, 400, ""},
		{"http://0x7f.1:" + port, 400, ""},
		{"http://0177.0.0.1:" + port, 400, ""},
		{"http://user:secret@h.example:" + port, 400, ""},
		{"http://h..example:" + port, 400, ""},
		{"http://h%2eexample:" + port, 400, ""},
		{"http://h.example:0", 400, ""},
		{"http://h.example:65536", 400, ""},
		{"http://h.example:+" + port, 400, ""},
		{`http://h.example:` + port + `\@evil.example`, 400, ""},
		{"ftp://h.example:" + port, 400, ""},
	} {
		t.Run(tc.target, func(t *testing.T) {
			get := func(path string) *http.Response {
				return h.raw("GET", "GET "+tc.target+path+" HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n")
			}
			res := get("/private")
			if res.StatusCode != tc.status {
				t.Errorf("/private: %d, want %d", res.StatusCode, tc.status)
			}
			if res.StatusCode == 400 && res.Header.Get("Proxy-Status") == "" {
				t.Error("the 400 is not explained")
			}
			if tc.host != "" {
				if res := get("/public"); res.StatusCode != 200 {
					t.Errorf("/public: %d, want 200", res.StatusCode)
				}
				if got, want := <-asked, tc.host+" /public"; got != want {
					t.Errorf("origin saw %q, want %q", got, want)
				}
			}
			if len(asked) > 0 {
				t.Errorf("origin was asked for %q", <-asked)
			}
		})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.records {
		if strings.Contains(r.URL, "secret") || strings.Contains(r.Err, "secret") {
			t.Errorf("userinfo in the record: %q %q", r.URL, r.Err)
		}
	}
}

// net/http answers these by itself, with a bare 400 and without a word to
// anybody; heed explains and records them.
func TestMalformedRequestsAreExplainedAndRecorded(t *testing.T) {
	_, secure := origins(t, func(http.ResponseWriter, *http.Request) { t.Error("the origin was asked") })
	authority := strings.TrimPrefix(secure.URL, "https://")
	for _, tc := range []struct{ name, request, status, says, url string }{
		{"bad escape", "GET @/a%zz HTTP/1.1\r\nHost: #\r\n\r\n", "400", `invalid URL escape "%zz"`, "@/a%zz"},
		{"lone percent sign", "GET @/100% HTTP/1.1\r\nHost: #\r\n\r\n", "400", `invalid URL escape "%"`, "@/100%"},
		{"fragment", "GET @/a#b HTTP/1.1\r\nHost: #\r\n\r\n", "400", "%23", "@/a#b"},
		{"no Host", "GET @/a HTTP/1.1\r\n\r\n", "400", "missing required Host header", "@/a"},
		{"two Hosts", "GET @/a HTTP/1.1\r\nHost: #\r\nHost: evil.example\r\n\r\n", "400", "too many Host headers", "@/a"},
		{"bad Host", "GET @/a HTTP/1.1\r\nHost: a b\r\n\r\n", "400", "malformed Host header", "@/a"},
		{"space before the colon", "GET @/a HTTP/1.1\r\nHost: #\r\nX : y\r\n\r\n", "400", "invalid header name", "@/a"},
		{"no HTTP", "HELLO\r\n\r\n", "400", "the request line is not HTTP", ""},
		{"unknown coding", "POST @/a HTTP/1.1\r\nHost: #\r\nTransfer-Encoding: br\r\n\r\n", "501", "", "@/a"},
		{"unsupported expectation", "POST @/a HTTP/1.1\r\nHost: #\r\nContent-Length: 1\r\nExpect: 200-ok\r\n\r\nx", "417", "", "@/a"},
		{"header too large", "GET @/a HTTP/1.1\r\nHost: #\r\nX: " + strings.Repeat("y", 70<<10) + "\r\n\r\n", "431", "limits.header_bytes", "@/a"},
	} {
		for _, in := range []string{"plain", "intercepted"} {
			t.Run(tc.name+", "+in, func(t *testing.T) {
				h := start(t, robots{}, []*httptest.Server{secure}, func(o *proxy.Options) { o.HeaderBytes = 64 << 10 })
				c := h.dialRaw()
				prefix, want := "http://h.example", "http://h.example"
				if in == "intercepted" {
					c = h.secure(h.tunnel(authority), "127.0.0.1")
					prefix, want = "", secure.URL
				}
				res := exchangeRaw(t, c, "GET", strings.NewReplacer("@", prefix, "#\r\n", authority+"\r\n").Replace(tc.request))
				body, _ := io.ReadAll(res.Body)
				if fmt.Sprint(res.StatusCode) != tc.status || !strings.Contains(string(body), strings.ReplaceAll(tc.says, `"`, `\"`)) {
					t.Errorf("%d %s, want %s and %q", res.StatusCode, body, tc.status, tc.says)
				}
				if res.Header.Get("Proxy-Status") == "" || res.Header.Get("Content-Type") != "application/problem+json" {
					t.Errorf("header %v", res.Header)
				}
				r := h.wait(1)[0]
				if r.URL != strings.ReplaceAll(tc.url, "@", want) || r.Decision.Verdict != policy.Error || fmt.Sprint(r.Status) != tc.status ||
					!r.Client.IsValid() || r.Intercepted != (in == "intercepted") || r.Err == "" {
					t.Errorf("record %+v", r)
				}
				if want := map[bool]policy.Reason{true: policy.ReasonLimit, false: policy.ReasonBadRequest}[tc.status == "431"]; r.Decision.Reason != want {
					t.Errorf("reason %s, want %s", r.Decision.Reason, want)
				}
			})
		}
	}
}

// An origin's body may begin like an answer of net/http's own.
func TestABodyIsNotMistakenForAnAnswer(t *testing.T) {
	const body = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
	plain, _ := origins(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_ = http.NewResponseController(w).Flush()
		time.Sleep(10 * time.Millisecond)
		_, _ = io.WriteString(w, body)
	})
	h := start(t, robots{}, nil)
	if _, got := get(t, h.client(false), plain.URL+"/x"); got != body {
		t.Errorf("got %q", got)
	}
	h.wait(1)
}

func TestHostThatDiffersFromTheTunnelIsRefused(t *testing.T) {
	_, secure := origins(t, func(http.ResponseWriter, *http.Request) { t.Error("the origin was asked") })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(secure.URL, "https://"))
	h := start(t, sourceFunc(func(_ ctx, o policy.Origin) (policy.Access, error) {
		t.Errorf("robots.txt of %s was asked for", o)
		return policy.Access{}, nil
	}), []*httptest.Server{secure})
	n := 0
	for _, head := range []string{
		"GET / HTTP/1.1\r\nHost: other.example:" + port,
		"GET / HTTP/1.1\r\nHost: allowed.example", // the port differs
		"GET / HTTP/1.1\r\nHost: [allowed.example]:" + port,
		"GET https://other.example:" + port + "/ HTTP/1.1\r\nHost: allowed.example:" + port,
		"GET http://allowed.example:" + port + "/ HTTP/1.1\r\nHost: allowed.example:" + port,
		"GET https://allowed.example:" + port + "@other.example/ HTTP/1.1\r\nHost: allowed.example:" + port,
		"CONNECT other.example:443 HTTP/1.1\r\nHost: allowed.example:" + port,
	} {
		res := exchangeRaw(t, h.secure(h.tunnel("allowed.example:"+port), "allowed.example"), "GET", head+"\r\n\r\n")
		n++
		r := h.wait(n)[n-1]
		if res.StatusCode != 400 || r.Decision.Verdict != policy.Error || r.Status != 400 {
			t.Errorf("%q: %d, record %+v", head, res.StatusCode, r)
		}
	}
	c := h.secureH2(h.tunnel("allowed.example:"+port), "allowed.example")
	if status := h2Status(t, c, [2]string{":authority", "other.example:" + port}, [2]string{":path", "/"}); status != "400" {
		t.Errorf("HTTP/2 :authority of another host: %s, want 400", status)
	}
	r := h.wait(n + 1)[n]
	if r.Decision.Reason != policy.ReasonHostMismatch {
		t.Errorf("reason %s, want host-mismatch", r.Decision.Reason)
	}
}

// Over HTTP/2 net/http lets a raw "#" through as a part of the path.
func TestRawFragmentOverHTTP2(t *testing.T) {
	_, secure := origins(t, func(http.ResponseWriter, *http.Request) { t.Error("the origin was asked") })
	authority := strings.TrimPrefix(secure.URL, "https://")
	h := start(t, robots{}, []*httptest.Server{secure})
	if status := h2Status(t, h.secureH2(h.tunnel(authority), "127.0.0.1"), [2]string{":authority", authority}, [2]string{":path", "/a#b"}); status != "400" {
		t.Errorf("status %s, want 400", status)
	}
	if r := h.wait(1)[0]; r.Decision.Reason != policy.ReasonBadRequest {
		t.Errorf("record %+v", r)
	}
}

// h2Status sends a GET with the fields given and returns :status.
func h2Status(t *testing.T, c net.Conn, fields ...[2]string) string {
	t.Helper()
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	fr := http2.NewFramer(c, c)
	fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = fr.WriteSettings()
	var block strings.Builder
	enc := hpack.NewEncoder(&block)
	if !slices.ContainsFunc(fields, func(f [2]string) bool { return f[0] == ":scheme" }) {
		fields = append([][2]string{{":scheme", "https"}}, fields...)
	}
	for _, f := range append([][2]string{{":method", "GET"}}, fields...) {
		_ = enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte(block.String()), EndStream: true, EndHeaders: true})
	for {
		frame, err := fr.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			return f.PseudoValue("status")
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			t.Fatalf("%v", f)
		}
	}
}
