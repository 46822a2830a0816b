package load

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// answering is a server that sends each connection one answer a request.
func answering(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					if _, err := http.ReadRequest(r); err != nil {
						return
					}
					if _, err := io.WriteString(c, answer); err != nil || !strings.Contains(answer, "ength: ") && !strings.Contains(answer, "chunked") {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct{ answer, fault string }{
		"length":             {"HTTP/1.1 200 OK\r\ncontent-LENGTH: 4\r\n\r\nheed", ""},
		"chunks":             {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n3;x=y\r\need\r\n0\r\n\r\n", ""},
		"until it closes":    {"HTTP/1.1 200 OK\r\n\r\nheed", ""},
		"it will close":      {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nheed", ""},
		"HTTP/1.0":           {"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nheed", ""},
		"another status":     {"HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nheed", "status 403"},
		"too short":          {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhee", "3 octets, not 4"},
		"no answer":          {"Hello, this is SMTP\r\n", "no status line"},
		"a chunk ends badly": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nheedX\r\n0\r\n\r\n", "does not end"},
	} {
		t.Run(name, func(t *testing.T) {
			w := Work{Path: "/", Size: 4, Connections: 2}
			r, err := Measure(t.Context(), w, Target{Plain: answering(t, c.answer)}, 0, 20*time.Millisecond, func() {})
			if c.fault == "" && (err != nil || r.Requests < 1 || r.Failed > 0 || r.P50 <= 0 || r.P99 < r.P50) {
				t.Errorf("got %+v, %v", r, err)
			}
			if c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
				t.Errorf("got %v, want %q", err, c.fault)
			}
		})
	}
}

// An origin counts as many requests as are reported, in the open and over HTTP/2.
func TestCounts(t *testing.T) {
	for _, streams := range []int{0, 8} {
		t.Run(fmt.Sprintf("%d streams", streams), func(t *testing.T) {
			var asked, inWindow atomic.Int64
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				if r.URL.Path != "/x" || (r.ProtoMajor == 2) != (streams > 0) {
					http.Error(w, "wrong", http.StatusBadRequest)
				}
				_, _ = w.Write(make([]byte, 100))
			}))
			s.EnableHTTP2 = true
			s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are broken off
			s.StartTLS()
			defer s.Close()
			w := Work{Via: Tunnel, Path: "/x", Size: 100, Connections: 3, Streams: streams}
			target := Target{Secure: s.Listener.Addr().String(), Issuer: "somebody else"}
			edges := 0
			r, err := Measure(t.Context(), w, target, 10*time.Millisecond, 100*time.Millisecond, func() {
				edges++
				inWindow.Store(asked.Load() - inWindow.Load())
			})
			if err == nil || !strings.Contains(err.Error(), "the certificate is by") {
				t.Fatalf("somebody else's certificate was taken: %+v, %v", r, err)
			}
			edges, target.Issuer = 0, s.Certificate().Issuer.CommonName
			inWindow.Store(0)
			asked.Store(0)
			r, err = Measure(t.Context(), w, target, 10*time.Millisecond, 100*time.Millisecond, func() {
				edges++
				inWindow.Store(asked.Load() - inWindow.Load())
			})
			// What was under way at the edges may be on either side of them.
			under := float64(w.Connections * max(1, streams))
			if got := r.Requests; err != nil || edges != 2 || got > float64(inWindow.Load())+under || got < float64(inWindow.Load())-under {
				t.Errorf("%f requests, the origin counted %d; %d edges, %v", got, inWindow.Load(), edges, err)
			}
		})
	}
}

// What hangs or was never there ends, with an error.
func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	w := Work{Path: "/", Size: 4, Connections: 2}
	if r, err := Measure(t.Context(), w, Target{Plain: address}, 0, time.Millisecond, func() {}); err == nil {
		t.Errorf("got %+v", r)
	}
	if release, err := Hold(t.Context(), w, Target{Plain: address}); err == nil {
		t.Error("held what is not there")
	} else {
		release()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Measure(ctx, w, Target{Plain: answering(t, "")}, time.Hour, time.Hour, func() {}); err == nil {
		t.Errorf("cancelled: got %+v", r)
	}
}

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for p, want := range map[int]time.Duration{50: 50, 99: 99, 100: 100} {
		if got := percentile(hundred, p); got != want {
			t.Errorf("%d%%: %d, want %d", p, got, want)
		}
	}
	if percentile(nil, 50) != 0 || percentile(hundred[:1], 99) != 1 {
		t.Error("of none and of one")
	}
}
