package proxy_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"heed/policy"
	"heed/proxy"
)

// passwords lets in who knows the user's password.
type passwords map[string]string

func (p passwords) check(_ context.Context, user, password string, _ netip.Addr) (bool, time.Time) {
	want, ok := p[user]
	if user == "held" {
		return false, time.Now().Add(30 * time.Second)
	}
	return ok && want == password, time.Time{}
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func withUsers(o *proxy.Options) { o.Authenticate = passwords{"alice": "secret"}.check }

func TestAuthenticationIsAskedForOnAConnectionThatStays(t *testing.T) {
	plain, secure := origins(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "from the origin") })
	host, target := plain.Listener.Addr().String(), secure.Listener.Addr().String()
	requests := map[string]struct{ method, head, body string }{
		"GET":     {"GET", "GET " + plain.URL + "/a HTTP/1.1\r\nHost: " + host + "\r\n", ""},
		"HEAD":    {"HEAD", "HEAD " + plain.URL + "/a HTTP/1.1\r\nHost: " + host + "\r\n", ""},
		"POST":    {"POST", "POST " + plain.URL + "/a HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 5\r\n", "hello"},
		"CONNECT": {"CONNECT", "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n", ""},
	}
	fields := []struct{ name, field, detail string }{
		{"none", "", "none is given"},
		{"a wrong password", basic("alice", "secre"), "name or the password is wrong"},
		{"an unknown user", basic("nobody", "secret"), "name or the password is wrong"},
		{"too many tries", basic("held", "secret"), "too many wrong passwords"},
		{"another scheme", "Bearer secret", "is not Basic"},
		{"not base64", "Basic ***", "is not name:password"},
		{"not a pair", "Basic YWxpY2U=", "is not name:password"},
		{"given twice", basic("alice", "secret") + "\r\nProxy-Authorization: " + basic("alice", "secret"), "more than once"},
	}
	for name, q := range requests {
		t.Run(name, func(t *testing.T) {
			h := start(t, robots{}, nil, withUsers)
			c := h.dialRaw()
			r := bufio.NewReader(c)
			send := func(field string) *http.Response {
				if field != "" {
					field = "Proxy-Authorization: " + field + "\r\n"
				}
				if _, err := io.WriteString(c, q.head+field+"\r\n"+q.body); err != nil {
					t.Fatal(err)
				}
				res, err := http.ReadResponse(r, &http.Request{Method: q.method})
				if err != nil {
					t.Fatal(err)
				}
				return res
			}
			for _, f := range fields {
				res := send(f.field)
				body, err := io.ReadAll(res.Body)
				if err != nil || res.StatusCode != 407 || res.Close || !strings.HasPrefix(res.Header.Get("Proxy-Authenticate"), "Basic realm=") ||
					!strings.HasPrefix(res.Header.Get("Proxy-Status"), "heed; error=http_request_denied") || (res.Header.Get("Retry-After") != "") != (f.name == "too many tries") {
					t.Errorf("%s: %d %v %v", f.name, res.StatusCode, res.Header, err)
				}
				if q.method != "HEAD" && !strings.Contains(string(body), f.detail) {
					t.Errorf("%s: body %s, want %q", f.name, body, f.detail)
				}
			}
			if res := send(basic("alice", "secret")); res.StatusCode != 200 {
				t.Errorf("with the right password on the same connection: %d", res.StatusCode)
			}
			for i, rec := range h.wait(len(fields) + map[bool]int{false: 1}[q.method == "CONNECT"])[:len(fields)] {
				if rec.Decision.Verdict != policy.Error || rec.Decision.Reason != policy.ReasonAuth || rec.Status != 407 || rec.User != "" ||
					rec.Err == "" || strings.Contains(fmt.Sprint(rec), "c2VjcmV0") {
					t.Errorf("%s: record %+v", fields[i].name, rec)
				}
			}
		})
	}
}

// On each path, the record names the user and the origin hears nothing of it.
func TestCredentialsDoNotTravelOn(t *testing.T) {
	var mu sync.Mutex
	var heard []string
	plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		for name, values := range r.Header {
			if strings.HasPrefix(name, "Proxy-") || strings.Contains(strings.Join(values, " "), "YWxpY2U6") {
				heard = append(heard, r.URL.Path+" "+name)
			}
		}
	})
	h := start(t, robots{}, nil, withUsers)
	h2 := start(t, robots{}, []*httptest.Server{secure}, withUsers)
	field := "Proxy-Authorization: " + basic("alice", "secret") + "\r\n"
	host := plain.Listener.Addr().String()
	for _, more := range []string{"", "Connection: proxy-authorization\r\n", "Connection: Upgrade\r\nUpgrade: websocket\r\n"} {
		h.raw("GET", "GET "+plain.URL+"/plain HTTP/1.1\r\nHost: "+host+"\r\n"+field+more+"\r\n")
	}
	for _, r := range h.wait(3) {
		if r.User != "alice" || r.Status == 407 {
			t.Errorf("record %+v", r)
		}
	}
	target := secure.Listener.Addr().String()
	c := h2.dialRaw()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", target, target, field)
	if head, err := readHead(c); err != nil || !strings.HasPrefix(head, "HTTP/1.1 200 ") {
		t.Fatalf("%q %v", head, err)
	}
	s := h2.secure(c, "127.0.0.1")
	res := exchangeRaw(t, s, "GET", "GET /inside HTTP/1.1\r\nHost: "+target+"\r\n"+field+"\r\n")
	if r := h2.wait(1)[0]; r.User != "alice" || res.StatusCode != 200 || !r.Intercepted {
		t.Errorf("%d, record %+v", res.StatusCode, r)
	}
	if len(heard) > 0 {
		t.Errorf("origins heard %q", heard)
	}
}

func TestThePageNeedsNoPassword(t *testing.T) {
	h := start(t, robots{}, nil, withUsers, func(o *proxy.Options) {
		o.Direct = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	})
	if res := h.raw("GET", "GET /ca.pem HTTP/1.1\r\nHost: "+h.addr+"\r\n\r\n"); res.StatusCode != 200 {
		t.Errorf("asked directly: %d", res.StatusCode)
	}
	if res := h.raw("GET", "GET http://heed.invalid/ HTTP/1.1\r\nHost: heed.invalid\r\n\r\n"); res.StatusCode != 407 {
		t.Errorf("asked through the proxy: %d", res.StatusCode)
	}
}
