package proxy_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"heed/policy"
	"heed/proxy"
)

func TestAllowedIsCarriedAndDisallowedIsRefused(t *testing.T) {
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			asked := make(chan string, 10)
			plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
				asked <- r.RequestURI
				_, _ = io.WriteString(w, "hello")
			})
			origin := plain
			if p.secure {
				origin = secure
			}
			h := start(t, robots{all: disallowPrivate}, []*httptest.Server{secure})
			c := h.client(p.http2)

			res, body := get(t, c, origin.URL+"/public?x=1")
			if res.StatusCode != 200 || body != "hello" {
				t.Errorf("allowed: %d %q", res.StatusCode, body)
			}
			if want := map[bool]int{false: 1, true: 2}[p.http2]; res.ProtoMajor != want {
				t.Errorf("client's leg is HTTP/%d, want %d", res.ProtoMajor, want)
			}
			res, body = get(t, c, origin.URL+"/private/x")
			if res.StatusCode != 403 {
				t.Fatalf("disallowed: %d %q", res.StatusCode, body)
			}
			if got, want := res.Header.Get("Proxy-Status"), `heed; error=http_request_denied; details="robots.txt line 2: Disallow: /private/"`; got != want {
				t.Errorf("Proxy-Status %s, want %s", got, want)
			}
			if res.Header.Get("Cache-Control") != "no-store" || res.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("header %v", res.Header)
			}
			var problem struct {
				Type, Title, Detail, Instance, Agent, Group, Rule, Reason string
				Status, Line                                              int
				Robots                                                    struct{ URL string }
			}
			if err := json.Unmarshal([]byte(body), &problem); err != nil {
				t.Fatal(err)
			}
			if problem.Status != 403 || problem.Rule != "Disallow: /private/" || problem.Line != 2 || problem.Group != "*" ||
				problem.Agent != "testbot" || problem.Reason != "rule" || problem.Instance != origin.URL+"/private/x" ||
				problem.Robots.URL != origin.URL+"/robots.txt" || problem.Type != "https://www.rfc-editor.org/rfc/rfc9309" {
				t.Errorf("problem %+v", problem)
			}

			records := h.wait(2)
			first, second := records[0], records[1]
			if first.Decision.Verdict != policy.Allow || first.Status != 200 || first.ResponseBytes != 5 || first.URL != origin.URL+"/public?x=1" ||
				first.Event != proxy.EventExchange || first.Method != "GET" || !first.Client.IsValid() || first.Intercepted != p.secure || !first.Enforced {
				t.Errorf("record of the allowed: %+v", first)
			}
			if second.Decision.Verdict != policy.Disallow || second.Decision.Line != 2 || second.Status != 403 || second.ID == first.ID ||
				second.ResponseBytes != int64(len(body)) {
				t.Errorf("record of the disallowed: %+v", second)
			}
			if got := <-asked; got != "/public?x=1" || len(asked) != 0 {
				t.Errorf("origin was asked for %q and %d more", got, len(asked))
			}
		})
	}
}

func TestRefusalFollowsAccept(t *testing.T) {
	h := start(t, robots{all: "User-agent: *\nDisallow: /\n"}, nil)
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
	for _, tc := range []struct{ name, method, accept, want string }{
		{"no preference is for programs", "GET", "", "application/problem+json"},
		{"curl", "GET", "*/*", "application/problem+json"},
		{"browser", "GET", browser, "text/html; charset=utf-8"},
		{"JSON preferred", "GET", "application/json, text/html;q=0.5", "application/problem+json"},
		{"HTML refused", "GET", "text/html;q=0, */*", "application/problem+json"},
		{"HEAD of a browser", "HEAD", browser, "text/html; charset=utf-8"},
		{"HEAD", "HEAD", "*/*", "application/problem+json"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			accept := ""
			if tc.accept != "" {
				accept = "Accept: " + tc.accept + "\r\n"
			}
			res := h.raw(tc.method, tc.method+" http://h.example/%3Cscript%3E HTTP/1.1\r\nHost: h.example\r\n"+accept+"\r\n")
			body, _ := io.ReadAll(res.Body)
			if res.StatusCode != 403 || res.Header.Get("Content-Type") != tc.want || res.Proto != "HTTP/1.1" {
				t.Errorf("%s %d %s, want 403 %s", res.Proto, res.StatusCode, res.Header.Get("Content-Type"), tc.want)
			}
			if res.ContentLength <= 0 || (tc.method == "HEAD") != (len(body) == 0) {
				t.Errorf("Content-Length %d, body %d octets", res.ContentLength, len(body))
			}
			if strings.HasPrefix(tc.want, "text/html") && tc.method == "GET" && !strings.Contains(string(body), "Disallow: /") {
				t.Errorf("the page does not name the rule: %s", body)
			}
		})
	}
}

func TestMonitorModeNotesAndCarries(t *testing.T) {
	plain, _ := origins(t, func(http.ResponseWriter, *http.Request) {})
	h := start(t, robots{all: disallowPrivate}, nil, func(o *proxy.Options) { o.Monitor = true })
	res, _ := get(t, h.client(false), plain.URL+"/private/x")
	r := h.wait(1)[0]
	if res.StatusCode != 200 || r.Decision.Verdict != policy.Disallow || r.Enforced || r.Status != 200 || r.Decision.Line != 2 {
		t.Errorf("status %d, record %+v", res.StatusCode, r)
	}
}

func TestNewNeedsItsParts(t *testing.T) {
	if p, err := proxy.New(proxy.Options{}); err == nil || p != nil {
		t.Errorf("New without anything = %v, %v; want an error", p, err)
	}
}
