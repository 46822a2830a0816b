package proxy_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"heed/policy"
	"heed/proxy"
)

// idle opens a connection on which one request has been answered.
func (h *heed) idle(url string) net.Conn {
	h.t.Helper()
	c := h.dialRaw()
	if res := exchangeRaw(h.t, c, "GET", "GET "+url+" HTTP/1.1\r\nHost: x\r\n\r\n"); res.StatusCode != 200 {
		h.t.Fatalf("status %d", res.StatusCode)
	}
	return c
}

// awaitOpen waits until n client connections are open.
func (h *heed) awaitOpen(n int) {
	h.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); h.proxy.OpenConnections() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("%d connections are open, want %d", h.proxy.OpenConnections(), n)
		}
	}
}

// One connection too many is told so, whatever it asks for, and closed; the next
// finds room again.
func TestConnectionLimit(t *testing.T) {
	plain, secure := origins(t, func(http.ResponseWriter, *http.Request) {})
	authority := strings.TrimPrefix(secure.URL, "https://")
	for _, tc := range []struct {
		setting string
		limit   func(*proxy.Options)
	}{
		{"limits.connections", func(o *proxy.Options) { o.Connections = 2 }},
		{"limits.connections_per_client", func(o *proxy.Options) { o.ConnectionsPerClient = 2 }},
	} {
		h := start(t, robots{}, []*httptest.Server{secure}, tc.limit)
		first := h.idle(plain.URL + "/1")
		h.secure(h.tunnel(authority), "127.0.0.1") // a tunnel counts as well
		for _, request := range []string{
			"GET " + plain.URL + "/x HTTP/1.1\r\nHost: x\r\n\r\n",
			"POST " + plain.URL + "/x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n",
			"CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n\r\n",
			"GET /proxy.pac HTTP/1.1\r\nHost: " + h.addr + "\r\n\r\n",
		} {
			method, _, _ := strings.Cut(request, " ")
			c := h.dialRaw()
			res := exchangeRaw(t, c, method, request)
			body, _ := io.ReadAll(res.Body)
			if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || !res.Close ||
				!strings.HasPrefix(res.Header.Get("Proxy-Status"), "heed; error=connection_limit_reached; ") ||
				!strings.Contains(string(body), `"reason":"limit"`) || !strings.Contains(string(body), tc.setting+" ") {
				t.Errorf("%s: %d %v %s", method, res.StatusCode, res.Header, body)
			}
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("%s: the connection goes on: %v", method, err)
			}
		}
		for _, r := range h.wait(5)[1:] {
			if r.Decision.Verdict != policy.Error || r.Decision.Reason != policy.ReasonLimit || r.Status != 503 || r.URL == "" || !strings.Contains(r.Err, tc.setting) {
				t.Errorf("record %+v", r)
			}
		}
		h.awaitOpen(2)
		_ = first.Close()
		h.awaitOpen(1)
		h.idle(plain.URL + "/2")
		if n := h.proxy.RefusedConnections(); n != 4 {
			t.Errorf("%d refused connections are counted, want 4", n)
		}
	}
}

// What one client may not, another may.
func TestConnectionLimitOfOneClient(t *testing.T) {
	plain, _ := origins(t, func(http.ResponseWriter, *http.Request) {})
	h := start(t, robots{}, nil, func(o *proxy.Options) { o.ConnectionsPerClient = 1 })
	h.idle(plain.URL + "/1")
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	c, err := from.Dial("tcp", h.addr)
	if err != nil {
		t.Skip("SKIPPED: no second address on loopback: ", err)
	}
	defer c.Close()
	request := "GET " + plain.URL + "/x HTTP/1.1\r\nHost: x\r\n\r\n"
	if res := exchangeRaw(t, c, "GET", request); res.StatusCode != 200 {
		t.Errorf("another client: status %d", res.StatusCode)
	}
	if res := h.raw("GET", request); res.StatusCode != 503 {
		t.Errorf("the same client: status %d", res.StatusCode)
	}
	h.wait(3)
}

// Telling has a bound, too: in number, and in time for who does not even ask.
func TestConnectionsFarBeyondTheLimit(t *testing.T) {
	t.Parallel()
	plain, _ := origins(t, func(http.ResponseWriter, *http.Request) {})
	h := start(t, robots{}, nil, func(o *proxy.Options) { o.Connections, o.HeaderTimeout = 1, time.Hour })
	h.idle(plain.URL + "/1")
	const told, more = 16, 20
	var silent []net.Conn
	for range told {
		silent = append(silent, h.dialRaw())
	}
	h.awaitOpen(1 + told)
	for range more {
		c := h.dialRaw()
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Fatalf("%d octets, %v", n, err)
		}
	}
	if n := h.proxy.OpenConnections(); n != 1+told {
		t.Errorf("%d connections are open, want %d", n, 1+told)
	}
	for _, c := range silent {
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
		if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Fatalf("%d octets, %v", n, err)
		}
	}
	h.awaitOpen(1)
	if n := h.proxy.RefusedConnections(); n != told+more {
		t.Errorf("%d refused connections are counted, want %d", n, told+more)
	}
}

// Change takes effect for what begins after it, and cuts nothing.
func TestChange(t *testing.T) {
	release := make(chan struct{})
	plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			_ = http.NewResponseController(w).Flush()
			<-release
		}
		_, _ = io.WriteString(w, r.UserAgent())
	})
	var options proxy.Options
	h := start(t, robots{all: disallowPrivate}, []*httptest.Server{secure}, func(o *proxy.Options) {
		o.Connections, o.UserAgent, o.Rewrite = 3, "before", proxy.RewriteAlways
		options = *o
	})
	c := h.client(true)
	slow, err := c.Get(secure.URL + "/slow")
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Body.Close()
	kept := h.idle(plain.URL + "/1")
	options.Connections, options.UserAgent = 2, "after"
	options.Decider.Overrides = []policy.Override{{Host: pattern(t, "127.0.0.1"), Action: policy.ActionAllow, Reason: "why not"}}
	if err := h.proxy.Change(options); err != nil {
		t.Fatal(err)
	}
	if res, body := get(t, c, secure.URL+"/private/x"); res.StatusCode != 200 || body != "after" {
		t.Errorf("in the tunnel of before: %d %q", res.StatusCode, body)
	}
	if res := exchangeRaw(t, kept, "GET", "GET "+plain.URL+"/private/x HTTP/1.1\r\nHost: x\r\n\r\n"); res.StatusCode != 200 {
		t.Errorf("on the connection of before: %d", res.StatusCode)
	}
	if res := h.raw("GET", "GET "+plain.URL+"/private/x HTTP/1.1\r\nHost: x\r\n\r\n"); res.StatusCode != 503 {
		t.Errorf("a third connection: %d", res.StatusCode)
	}
	close(release)
	if body, err := io.ReadAll(slow.Body); err != nil || string(body) != "before" {
		t.Errorf("what had begun: %q %v", body, err)
	}
	options.Dial = nil
	if err := h.proxy.Change(options); err == nil {
		t.Error("options that New does not take are taken")
	}
	if res := exchangeRaw(t, kept, "GET", "GET "+plain.URL+"/private/x HTTP/1.1\r\nHost: x\r\n\r\n"); res.StatusCode != 200 {
		t.Errorf("after a change that was not taken: %d", res.StatusCode)
	}
}

func pattern(t *testing.T, host string) policy.HostPattern {
	t.Helper()
	p, err := policy.ParseHostPattern(host)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// It is told inside TLS, where the port speaks that.
func TestConnectionLimitInsideTLS(t *testing.T) {
	plain, secure := origins(t, func(http.ResponseWriter, *http.Request) {})
	h := start(t, robots{}, nil, overTLS(secure), func(o *proxy.Options) { o.Connections = 1 })
	for _, want := range []int{200, 503} {
		c := h.portTLS(secure, "http/1.1")
		if res := exchangeRaw(t, c, "GET", "GET "+plain.URL+"/x HTTP/1.1\r\nHost: x\r\n\r\n"); res.StatusCode != want {
			t.Errorf("status %d, want %d", res.StatusCode, want)
		}
	}
	h.wait(2)
}
