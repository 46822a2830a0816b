package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"heed/policy"
	"heed/proxy"
)

const upgrade = " HTTP/1.1\r\nHost: #\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n"

// echo switches protocols and sends back what it gets, until it gets "bye".
func echo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "websocket" || r.Header.Get("Connection") != "Upgrade" || r.Header.Get("Sec-Websocket-Key") != "x" {
		http.Error(w, fmt.Sprint(r.Header), http.StatusBadRequest)
		return
	}
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade, X-Hop\r\nX-Hop: 1\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: y\r\n\r\n")
	buf := make([]byte, 5)
	for {
		if _, err := io.ReadFull(rw, buf[:3]); err != nil || string(buf[:3]) == "bye" {
			return
		}
		if _, err := io.ReadFull(rw, buf[3:]); err != nil {
			return
		}
		if _, err := c.Write(buf); err != nil {
			return
		}
	}
}

func (l *leg) switched() {
	l.t.Helper()
	res := l.head("GET")
	if res.StatusCode != 101 || res.Header.Get("Upgrade") != "websocket" || res.Header.Get("Sec-Websocket-Accept") != "y" || res.Header.Get("X-Hop") != "" {
		l.t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
}

func (l *leg) expect(text string) {
	l.t.Helper()
	buf := make([]byte, len(text))
	if _, err := io.ReadFull(l.br, buf); err != nil || string(buf) != text {
		l.t.Fatalf("%q %v, want %q", buf, err, text)
	}
}

func TestWebSocket(t *testing.T) {
	for _, ends := range []string{"origin", "client"} {
		for _, p := range paths[:2] {
			t.Run("the "+ends+" closes, "+p.name, func(t *testing.T) {
				done := make(chan struct{})
				plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
					defer close(done)
					echo(w, r)
				})
				h := start(t, robots{all: disallowPrivate}, []*httptest.Server{secure})
				l := h.leg(p.of(plain, secure).URL)
				l.send("GET @/chat" + upgrade)
				l.switched()
				open := recorded(h, 1)
				if open.Event != proxy.EventOpen || open.Status != 101 || open.Decision.Verdict != policy.Allow || open.URL != p.of(plain, secure).URL+"/chat" {
					t.Errorf("open record %+v", open)
				}
				for range 3 {
					l.send("hello")
					l.expect("hello")
				}
				want := int64(15)
				if ends == "origin" {
					l.send("bye")
					want += 3
				} else {
					_ = l.Close()
				}
				<-done
				if ends == "origin" && !l.ended() {
					t.Error("the client's connection goes on")
				}
				last := recorded(h, 2)
				if last.Event != proxy.EventClose || last.ID != open.ID || last.RequestBytes != want || last.ResponseBytes != 15 || last.Status != 101 || last.Err != "" {
					t.Errorf("close record %+v", last)
				}
				h.drained()
			})
		}
	}
}

func TestWebSocketFramesSentWithTheRequest(t *testing.T) {
	for _, p := range paths[:2] {
		plain, secure := origins(t, echo)
		h := start(t, robots{}, []*httptest.Server{secure})
		l := h.leg(p.of(plain, secure).URL)
		l.send("GET @/chat" + upgrade + "helloworld")
		l.switched()
		l.expect("helloworld")
		_ = l.Close()
		if r := recorded(h, 2); r.RequestBytes != 10 || r.ResponseBytes != 10 {
			t.Errorf("%s: record %+v", p.name, r)
		}
	}
}

func TestWebSocketIsJudgedLikeAnyRequest(t *testing.T) {
	for _, p := range paths[:2] {
		plain, secure := origins(t, func(http.ResponseWriter, *http.Request) { t.Error("the origin was asked") })
		h := start(t, robots{all: disallowPrivate}, []*httptest.Server{secure})
		l := h.leg(p.of(plain, secure).URL)
		l.send("GET @/private/chat" + upgrade)
		res, _ := l.answer("GET")
		explained(t, res, 403, "http_request_denied")
		if r := recorded(h, 1); r.Event != proxy.EventExchange || r.Status != 403 {
			t.Errorf("record %+v", r)
		}
	}
}

// An origin may decline, and the connection stays one of HTTP.
func TestWebSocketDeclined(t *testing.T) {
	for _, p := range paths[:2] {
		plain, secure := origins(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Upgrade", "websocket")
			w.WriteHeader(http.StatusUpgradeRequired)
		})
		l := start(t, robots{}, []*httptest.Server{secure}).leg(p.of(plain, secure).URL)
		for range 2 {
			l.send("GET @/chat" + upgrade)
			if res, _ := l.answer("GET"); res.StatusCode != 426 || res.Close {
				t.Errorf("%d close=%v", res.StatusCode, res.Close)
			}
		}
	}
}

// An upgrade to anything else, of HTTP/1.0 or with a body is none, and a switch to
// something else than was asked for is a failure.
func TestOtherUpgrades(t *testing.T) {
	asked := make(chan string, 1)
	origin := rawOrigin(t, func(c net.Conn) {
		head, _ := readHead(c)
		req, _ := http.ReadRequest(bufio.NewReader(strings.NewReader(head)))
		asked <- req.Header.Get("Upgrade")
		if req.URL.Path == "/other" {
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n")
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	})
	h := start(t, robots{}, nil)
	for _, tc := range []struct {
		name, request, upgrade string
		status                 int
	}{
		{"h2c", "GET @/x HTTP/1.1\r\nHost: #\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", "", 200},
		{"not in Connection", "GET @/x HTTP/1.1\r\nHost: #\r\nUpgrade: websocket\r\n\r\n", "", 200},
		{"HTTP/1.0", "GET @/x HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "", 200},
		{"with a body", "GET @/x HTTP/1.1\r\nHost: #\r\nContent-Length: 1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nx", "", 200},
		{"one of several", "GET @/x HTTP/1.1\r\nHost: #\r\nConnection: Upgrade\r\nUpgrade: h2c, websocket\r\n\r\n", "websocket", 200},
		{"another than asked for", "GET @/other HTTP/1.1\r\nHost: #\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "websocket", 502},
	} {
		l := h.leg("http://" + origin)
		l.send(tc.request)
		res, _ := l.answer("GET")
		if got := <-asked; res.StatusCode != tc.status || got != tc.upgrade {
			t.Errorf("%s: %d, the origin was asked for %q; want %d, %q", tc.name, res.StatusCode, got, tc.status, tc.upgrade)
		}
	}
}
