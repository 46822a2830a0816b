package proxy_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heed/proxy"
)

func TestFieldsOfTheClientsConnectionAreNotPassedOn(t *testing.T) {
	heads := make(chan string, 1)
	plain, secure, cert := rawServers(t, func(c net.Conn) {
		head, _ := readHead(c)
		heads <- head
		_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
	})
	for _, url := range []string{plain, secure} {
		t.Run(url[:5], func(t *testing.T) {
			h := start(t, robots{}, []*httptest.Server{cert})
			l := h.leg(url)
			l.send("GET @/x HTTP/1.1\r\nHost: #\r\nConnection: close, X-Hop , keep-alive\r\nConnection: X-OTHER, te, upgrade, Host\r\n" +
				"X-Hop: 1\r\nX-Other: 1\r\nX-Kept: 1\r\nKeep-Alive: timeout=5\r\nTE: gzip, trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: AAAA\r\n" +
				"Proxy-Authorization: Basic c2VjcmV0\r\nProxy-Authenticate: Basic\r\nProxy-Connection: keep-alive\r\nProxy-Authentication-Info: x\r\n" +
				"User-Agent: bot\r\n\r\n")
			if res, _ := l.answer("GET"); res.StatusCode != 204 {
				t.Fatalf("status %d", res.StatusCode)
			}
			_, fields, _ := strings.Cut(<-heads, "\r\n")
			got := strings.Split(strings.TrimSpace(pseudonymless(fields)), "\r\n")
			slices.Sort(got)
			want := []string{"Host: " + l.host, "Te: trailers", "User-Agent: bot", "Via: 1.1 heed-*", "X-Kept: 1"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the origin got (-want +got):\n%s", diff)
			}
			if !l.ended() {
				t.Error("the client's own wish to close is not heeded")
			}
		})
	}
}

func TestFieldsOfTheOriginsConnectionAreNotPassedOn(t *testing.T) {
	plain, secure, cert := rawServers(t, answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: X-Hop, keep-alive\r\nX-Hop: 1\r\nX-Kept: 1\r\n"+
		"Keep-Alive: timeout=5\r\nUpgrade: h2c\r\nProxy-Authenticate: Basic\r\nProxy-Connection: close\r\nProxy-Authentication-Info: x\r\nDate: now\r\n"+
		"Alt-Svc: h3=\":443\"\r\n\r\nok"))
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			h := start(t, robots{}, []*httptest.Server{cert})
			url, want := plain, []string{"Alt-Svc", "Content-Length", "Date", "Via", "X-Kept"}
			if p.secure {
				url, want = secure, want[1:]
			}
			res, body := get(t, h.client(p.http2), url+"/x")
			got := slices.Sorted(maps.Keys(res.Header))
			if diff := cmp.Diff(want, got); diff != "" || body != "ok" || res.Close {
				t.Errorf("%q, close=%v, fields (-want +got):\n%s", body, res.Close, diff)
			}
		})
	}
}

func TestOriginThatClosesDoesNotCloseTheClientsConnection(t *testing.T) {
	plain, secure, cert := rawServers(t, func(c net.Conn) {
		_, _ = readHead(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
	})
	for _, url := range []string{plain, secure} {
		l := start(t, robots{}, []*httptest.Server{cert}).leg(url)
		for range 3 {
			l.send("GET @/x HTTP/1.1\r\nHost: #\r\n\r\n")
			if res, body := l.answer("GET"); res.Close || body != "ok" {
				t.Errorf("%s: %q, close=%v", url, body, res.Close)
			}
		}
	}
}

func TestUserAgent(t *testing.T) {
	for _, tc := range []struct {
		name    string
		rewrite proxy.Rewrite
		sent    string
		want    []string
	}{
		{"none is not added", proxy.RewriteNever, "", nil},
		{"one is passed on", proxy.RewriteNever, "theirs", []string{"theirs"}},
		{"a missing one is filled in", proxy.RewriteMissing, "", []string{"ours"}},
		{"one is kept where only missing ones are filled in", proxy.RewriteMissing, "theirs", []string{"theirs"}},
		{"always replaces", proxy.RewriteAlways, "theirs", []string{"ours"}},
		{"always fills in", proxy.RewriteAlways, "", []string{"ours"}},
	} {
		for _, p := range paths {
			t.Run(tc.name+", "+p.name, func(t *testing.T) {
				got := make(chan []string, 1)
				plain, secure := origins(t, func(_ http.ResponseWriter, r *http.Request) { got <- r.Header["User-Agent"] })
				h := start(t, robots{}, []*httptest.Server{secure}, func(o *proxy.Options) { o.UserAgent, o.Rewrite = "ours", tc.rewrite })
				req, _ := http.NewRequest("GET", p.of(plain, secure).URL+"/x", nil)
				req.Header["User-Agent"] = []string{tc.sent} // "" sends none
				res, err := h.client(p.http2).Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = bodyErr(res)
				if diff := cmp.Diff(tc.want, <-got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestContentIsLeftAsItIs(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte("<html>hello"))
	_ = z.Close()
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			accepted := make(chan []string, 2)
			plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
				accepted <- r.Header["Accept-Encoding"]
				w.Header()["Content-Type"] = nil
				w.Header()["Set-Cookie"] = []string{"b=2", "a=1", "b=2"}
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(zipped.Bytes())
			})
			h := start(t, robots{}, []*httptest.Server{secure})
			for _, sent := range [][]string{nil, {"br;q=1, gzip", "x"}} {
				req, _ := http.NewRequest("GET", p.of(plain, secure).URL+"/x", nil)
				req.Header["Accept-Encoding"] = sent
				res, err := h.client(p.http2).Do(req)
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if !bytes.Equal(body, zipped.Bytes()) || res.Header.Get("Content-Encoding") != "gzip" || res.ContentLength != int64(len(body)) {
					t.Errorf("body %q, header %v", body, res.Header)
				}
				if got := <-accepted; !slices.Equal(got, sent) {
					t.Errorf("the origin got Accept-Encoding %q, want %q", got, sent)
				}
				if got, ok := res.Header["Content-Type"]; ok {
					t.Errorf("Content-Type %q was guessed", got)
				}
				if got := res.Header["Set-Cookie"]; !slices.Equal(got, []string{"b=2", "a=1", "b=2"}) {
					t.Errorf("Set-Cookie %q", got)
				}
			}
		})
	}
}

// Nobody else can speak in heed's name, in a header, an early hint or a trailer.
func TestForgedProxyStatusIsDropped(t *testing.T) {
	forged := "heed; error=http_request_denied"
	for _, tc := range []struct {
		name string
		sent []string
		want []string
	}{
		{"alone", []string{forged}, nil},
		{"as a string", []string{`"heed"; error=x`}, nil},
		{"in capitals", []string{"HEED; error=x"}, nil},
		{"no parameters", []string{"heed"}, nil},
		{"white space", []string{"\t heed ;error=x"}, nil},
		{"of another", []string{`cdn; error=dns_error; details="a, b"`}, []string{`cdn; error=dns_error; details="a, b"`}},
		{"in the middle", []string{"a; x=1, " + forged + ", b"}, []string{"a; x=1, b"}},
		{"over several lines", []string{"a", forged, "b"}, []string{"a, b"}},
		{"a name that only begins so", []string{"heedless"}, []string{"heedless"}},
		{"inside a string", []string{`a; details="x, heed; error=y"`}, []string{`a; details="x, heed; error=y"`}},
		{"after an escaped quote", []string{`a; details="\"", ` + forged}, []string{`a; details="\""`}},
		{"in an unfinished string", []string{`a, b; details="x, ` + forged}, []string{"a"}},
		{"empty members", []string{", ,", "a,,"}, []string{"a"}},
	} {
		for _, p := range paths {
			t.Run(tc.name+", "+p.name, func(t *testing.T) {
				plain, secure := origins(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header()["Proxy-Status"] = tc.sent
					w.WriteHeader(http.StatusEarlyHints)
					_ = http.NewResponseController(w).Flush()
					w.Header()[http.TrailerPrefix+"Proxy-Status"] = tc.sent
				})
				h := start(t, robots{}, []*httptest.Server{secure})
				var hint textproto.MIMEHeader
				trace := &httptrace.ClientTrace{Got1xxResponse: func(_ int, header textproto.MIMEHeader) error {
					hint = header
					return nil
				}}
				req, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", p.of(plain, secure).URL+"/x", nil)
				res, err := h.client(p.http2).Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = bodyErr(res)
				for where, got := range map[string][]string{
					"header": res.Header["Proxy-Status"], "early hint": hint["Proxy-Status"], "trailer": res.Trailer["Proxy-Status"],
				} {
					if diff := cmp.Diff(tc.want, got); diff != "" {
						t.Errorf("%s (-want +got):\n%s", where, diff)
					}
				}
			})
		}
	}
}
