package proxy_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

// shutdown begins to shut h down and returns what Shutdown will. Nothing new is
// accepted once it has begun.
func (h *heed) shutdown(ctx context.Context) <-chan error {
	h.t.Helper()
	done := make(chan error, 1)
	go func() { done <- h.proxy.Shutdown(ctx) }()
	for deadline := time.Now().Add(3 * time.Second); ; time.Sleep(time.Millisecond) {
		c, err := net.Dial("tcp", h.addr)
		if err != nil {
			return done
		}
		_ = c.Close()
		if time.Now().After(deadline) {
			h.t.Fatal("connections are still accepted")
		}
	}
}

// ends waits for what shutdown returned.
func ends(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(8 * time.Second):
		t.Fatal("Shutdown does not return")
		return nil
	}
}

func TestShutdownWaitsForRequestsUnderWay(t *testing.T) {
	asked, release := make(chan struct{}, 3), make(chan struct{})
	plain, secure := origins(t, func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		<-release
		_, _ = io.WriteString(w, "late")
	})
	h := start(t, robots{}, []*httptest.Server{secure})
	got := make(chan string, len(paths))
	for _, p := range paths {
		c := h.client(p.http2)
		go func() {
			res, err := c.Get(p.of(plain, secure).URL + "/x")
			if err != nil {
				got <- err.Error()
				return
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			got <- fmt.Sprint(p.name, ": ", string(body), err)
		}()
		<-asked
	}
	done := h.shutdown(t.Context())
	select {
	case err := <-done:
		t.Errorf("Shutdown did not wait: %v", err)
	default:
	}
	close(release)
	for range paths {
		if s := <-got; !strings.HasSuffix(s, "late<nil>") {
			t.Error(s)
		}
	}
	if err := ends(t, done); err != nil {
		t.Error(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.records) != len(paths) {
		t.Errorf("%d records when Shutdown returned, want %d", len(h.records), len(paths))
	}
}

// What is connected and asks for nothing does not hold a Shutdown.
func TestShutdownDoesNotWaitForIdleConnections(t *testing.T) {
	plain, secure := origins(t, func(http.ResponseWriter, *http.Request) {})
	authority := strings.TrimPrefix(secure.URL, "https://")
	h := start(t, robots{}, []*httptest.Server{secure}, func(o *proxy.Options) { o.HeaderTimeout = time.Hour })
	for _, p := range paths { // kept alive
		get(t, h.client(p.http2), p.of(plain, secure).URL+"/x")
	}
	h.dialRaw()                                          // connected
	_, _ = io.WriteString(h.dialRaw(), "GET http://h.")  // in the middle of a request
	h.tunnel(authority)                                  // before the handshake
	_, _ = h.tunnel(authority).Write([]byte{0x16, 3, 1}) // in the middle of it
	h.secure(h.tunnel(authority), "127.0.0.1")
	h.secureH2(h.tunnel(authority), "127.0.0.1")
	_, _ = io.WriteString(h.tunnel(authority), "GET /")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // net/http gives silent connections 5 seconds
	defer cancel()
	if err := ends(t, h.shutdown(ctx)); err != nil {
		t.Error(err)
	}
	h.drained()
	h.wait(len(paths))
}

func TestShutdownCutsWhatDoesNotEnd(t *testing.T) {
	for _, kind := range []string{"tunnel", "WebSocket", "WebSocket in a tunnel", "stream", "stream over HTTP/2", "upload"} {
		t.Run(kind, func(t *testing.T) {
			began := make(chan struct{})
			plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
				defer close(began)
				if r.Header.Get("Upgrade") != "" {
					began <- struct{}{}
					echo(w, r)
					return
				}
				if r.ContentLength == 0 {
					_ = http.NewResponseController(w).Flush()
				}
				began <- struct{}{}
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			})
			authority := strings.TrimPrefix(secure.URL, "https://")
			h := start(t, robots{}, []*httptest.Server{secure}, func(o *proxy.Options) {
				if kind == "tunnel" {
					o.Leaf = nil
				}
			})
			events := 1
			switch kind {
			case "tunnel":
				s := tls.Client(h.tunnel(authority), &tls.Config{InsecureSkipVerify: true})
				fmt.Fprintf(s, "GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
				events = 2
			case "WebSocket", "WebSocket in a tunnel":
				l := h.leg(map[string]string{"WebSocket": plain.URL}[kind] + map[string]string{"WebSocket in a tunnel": secure.URL}[kind])
				l.send("GET @/chat" + upgrade)
				events = 2
			case "stream", "stream over HTTP/2":
				res, err := h.client(kind != "stream").Get(map[bool]string{true: plain.URL, false: secure.URL}[kind == "stream"])
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
			case "upload":
				h.leg(plain.URL).send("POST @/x HTTP/1.1\r\nHost: #\r\nContent-Length: 10\r\n\r\nhello")
			}
			<-began
			h.wait(events - 1)
			ctx, cancel := context.WithCancel(t.Context())
			done := h.shutdown(ctx)
			cancel()
			if err := ends(t, done); !errors.Is(err, context.Canceled) {
				t.Errorf("Shutdown returns %v, want the context's error", err)
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			if len(h.records) != events {
				t.Fatalf("%d records when Shutdown returned, want %d", len(h.records), events)
			}
			if last := h.records[events-1]; last.Err != "heed was shut down" {
				t.Errorf("%+v is not recorded as cut", last)
			}
			if last := h.records[events-1]; events == 2 && (last.Event != proxy.EventClose || last.ID != h.records[0].ID) {
				t.Errorf("record %+v", last)
			}
			<-began
		})
	}
}

// A request that waits for robots.txt ends with the Shutdown, whether or not its
// connection is being watched: it is not while an upload has to be read.
func TestShutdownEndsTheWaitForRobots(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		for _, p := range paths {
			t.Run(method+", "+p.name, func(t *testing.T) {
				asked := make(chan struct{})
				plain, secure := origins(t, func(http.ResponseWriter, *http.Request) { t.Error("the origin was asked") })
				h := start(t, sourceFunc(func(ctx ctx, _ policy.Origin) (policy.Access, error) {
					close(asked)
					<-ctx.Done()
					return policy.Access{}, ctx.Err()
				}), []*httptest.Server{secure})
				req, _ := http.NewRequest(method, p.of(plain, secure).URL+"/x", strings.NewReader(strings.Repeat("x", 100)))
				c, answered := h.client(p.http2), make(chan error, 1)
				go func() {
					_, err := c.Do(req)
					answered <- err
				}()
				<-asked
				ctx, cancel := context.WithCancel(t.Context())
				done := h.shutdown(ctx)
				cancel()
				if err := ends(t, done); !errors.Is(err, context.Canceled) {
					t.Errorf("Shutdown returns %v, want the context's error", err)
				}
				if err := <-answered; err == nil {
					t.Error("the client got an answer")
				}
				r := recorded(h, 1)
				if r.Decision.Verdict == policy.Allow || r.Status != 0 || r.Err != "heed was shut down" {
					t.Errorf("record %+v", r)
				}
			})
		}
	}
}

func TestShutdownBeforeServe(t *testing.T) {
	nobody := sourceFunc(func(ctx, policy.Origin) (policy.Access, error) { return policy.Access{}, nil })
	p, err := proxy.New(proxy.Options{
		Decider: proxy.Decider{Source: nobody}, Transport: http.DefaultTransport,
		Dial: func(ctx, string, string) (net.Conn, error) { return nil, errors.New("no") },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Serve(l); err != nil {
		t.Errorf("Serve after Shutdown: %v", err)
	}
	_ = l.Close()
}
