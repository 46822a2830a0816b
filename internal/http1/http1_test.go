package http1_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"heed/internal/http1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

// origin serves each connection with f, which gets its number, and returns its URL.
func origin(t testing.TB, f func(c net.Conn, n int)) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var n atomic.Int32
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n := int(n.Add(1))
			go func() {
				defer c.Close()
				f(c, n)
			}()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/x"}
}

// serve answers every request of a connection, and tells how many came.
func serve(text string, asked *atomic.Int32) func(net.Conn, int) {
	return func(c net.Conn, _ int) {
		br := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			asked.Add(1)
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
}

func client(t testing.TB, change ...func(*http1.Options)) (*http1.Client, *atomic.Int32) {
	t.Helper()
	dialled := new(atomic.Int32)
	o := http1.Options{MaxIdle: 10, MaxIdlePerHost: 10, Dial: func(ctx context.Context, u *url.URL) (net.Conn, error) {
		dialled.Add(1)
		return new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	}}
	for _, c := range change {
		c(&o)
	}
	out := http1.New(o)
	t.Cleanup(out.CloseIdleConnections)
	return out, dialled
}

func request(t testing.TB, method string, u *url.URL, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, u.String(), body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func do(t testing.TB, c *http1.Client, r *http.Request) string {
	t.Helper()
	res, err := c.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestConnectionIsKept(t *testing.T) {
	var asked atomic.Int32
	u := origin(t, serve(answer, &asked))
	c, dialled := client(t)
	for range 10 {
		if body := do(t, c, request(t, "GET", u, nil)); body != "hello" {
			t.Fatalf("%q", body)
		}
	}
	for range 10 {
		do(t, c, request(t, "POST", u, strings.NewReader("content")))
	}
	if dialled.Load() != 1 || asked.Load() != 20 {
		t.Errorf("%d connections for %d requests", dialled.Load(), asked.Load())
	}
}

func TestConnectionIsNotKept(t *testing.T) {
	for name, text := range map[string]string{
		"the origin says so":          "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.0":                    "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.0 that would keep it": "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello",
		"more came than the answer":   answer + answer,
		"content where there is none": "HTTP/1.1 204 No Content\r\n\r\nhello",
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			u := origin(t, serve(text, &asked))
			c, dialled := client(t)
			for range 3 {
				if body := do(t, c, request(t, "GET", u, nil)); body != "hello" && body != "" {
					t.Errorf("%q", body)
				}
			}
			if dialled.Load() != 3 {
				t.Errorf("%d connections for 3 requests", dialled.Load())
			}
		})
	}
}

// What an origin sends while nobody asks is never an answer, not even for a request
// that is sent at the same moment as it is noticed.
func TestUnaskedAnswerIsNotTaken(t *testing.T) {
	sent := make(chan struct{})
	u := origin(t, func(c net.Conn, _ int) {
		br := bufio.NewReader(c)
		if _, err := http.ReadRequest(br); err != nil {
			return
		}
		_, _ = io.WriteString(c, answer)
		time.Sleep(5 * time.Millisecond) // a segment of its own
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")
		sent <- struct{}{}
		_, _ = io.Copy(io.Discard, br)
	})
	c, dialled := client(t)
	for range 20 {
		if body := do(t, c, request(t, "GET", u, nil)); body != "hello" {
			t.Fatalf("%q", body)
		}
		<-sent
	}
	if dialled.Load() != 20 {
		t.Errorf("%d connections for 20 requests", dialled.Load())
	}
}

// An origin that closes what was kept costs one repetition at most.
func TestRepetition(t *testing.T) {
	for _, tc := range []struct {
		method, body string
		again        bool
	}{
		{"GET", "", true}, {"HEAD", "", true}, {"DELETE", "", true}, {"OPTIONS", "", true}, {"TRACE", "", true}, {"PUT", "", true},
		{"POST", "", false}, {"PATCH", "", false}, {"PUT", "x", false}, {"FROB", "", false},
	} {
		t.Run(tc.method+tc.body, func(t *testing.T) {
			var asked atomic.Int32
			u := origin(t, func(c net.Conn, n int) {
				br := bufio.NewReader(c)
				for i := range 3 {
					if _, err := http.ReadRequest(br); err != nil {
						return
					}
					asked.Add(1)
					if i > 0 || n > 1 {
						return // instead of an answer, on every connection from now on
					}
					_, _ = io.WriteString(c, answer)
				}
			})
			c, dialled := client(t)
			do(t, c, request(t, "GET", u, nil))
			var body io.Reader
			if tc.body != "" {
				body = strings.NewReader(tc.body)
			}
			if _, err := c.RoundTrip(request(t, tc.method, u, body)); err == nil {
				t.Fatal("there was an answer")
			}
			want := int32(2)
			if tc.again {
				want = 3
			}
			if asked.Load() != want || dialled.Load() != want-1 {
				t.Errorf("%d requests on %d connections, want %d", asked.Load(), dialled.Load(), want)
			}
		})
	}
}
