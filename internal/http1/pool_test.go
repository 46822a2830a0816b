package http1_test

import (
	"io"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"heed/internal/http1"
)

// watched is an origin that counts its open connections.
func watched(t *testing.T, open *atomic.Int32) *url.URL {
	var asked atomic.Int32
	return origin(t, func(c net.Conn, n int) {
		open.Add(1)
		defer open.Add(-1)
		serve(answer, &asked)(c, n)
	})
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// Of too many origins those are kept that were asked last.
func TestKeptConnectionsAreBounded(t *testing.T) {
	var open atomic.Int32
	c, dialled := client(t, func(o *http1.Options) { o.MaxIdle = 3 })
	urls := make([]*url.URL, 6)
	for i := range urls {
		urls[i] = watched(t, &open)
		do(t, c, request(t, "GET", urls[i], nil))
	}
	until(t, "more than three connections stay open", func() bool { return open.Load() == 3 })
	for i, u := range urls {
		if c.Kept(u) != (i >= 3) {
			t.Errorf("origin %d: kept is %v", i, c.Kept(u))
		}
	}
	for i := 5; i >= 3; i-- {
		do(t, c, request(t, "GET", urls[i], nil))
	}
	if dialled.Load() != 6 {
		t.Errorf("%d connections for 6 origins", dialled.Load())
	}
	c.CloseIdleConnections()
	until(t, "connections stay open", func() bool { return open.Load() == 0 })
}

func TestKeptConnectionsOfAnOriginAreBounded(t *testing.T) {
	for _, most := range []int{0, 2} {
		var open atomic.Int32
		u := watched(t, &open)
		c, _ := client(t, func(o *http1.Options) { o.MaxIdlePerHost = most })
		uploads := make([]*io.PipeWriter, 5)
		answers := make(chan error, len(uploads))
		for i := range uploads {
			var body *io.PipeReader
			body, uploads[i] = io.Pipe()
			r := request(t, "POST", u, body)
			go func() {
				res, err := c.RoundTrip(r)
				if err == nil {
					_, err = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
				answers <- err
			}()
		}
		until(t, "not all are under way", func() bool { return open.Load() == 5 })
		for _, w := range uploads {
			_ = w.Close()
		}
		for range uploads {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		until(t, "other than the allowed number stay open", func() bool { return open.Load() == int32(most) })
		c.CloseIdleConnections()
	}
}

// An idle connection is closed when its time is over, and when its origin closes it.
func TestIdleConnectionsAreSwept(t *testing.T) {
	var open atomic.Int32
	u := watched(t, &open)
	c, _ := client(t, func(o *http1.Options) { o.IdleTimeout = time.Millisecond })
	do(t, c, request(t, "GET", u, nil))
	until(t, "an idle connection stays", func() bool { return open.Load() == 0 && !c.Kept(u) })

	ended := make(chan struct{})
	u = origin(t, func(c net.Conn, _ int) {
		defer close(ended)
		b := make([]byte, 4096)
		if n, _ := c.Read(b); strings.HasSuffix(string(b[:n]), "\r\n\r\n") {
			_, _ = io.WriteString(c, answer)
		}
	})
	c, _ = client(t)
	do(t, c, request(t, "GET", u, nil))
	<-ended
	until(t, "a closed connection stays", func() bool { return !c.Kept(u) })
}

// The URL's host stands in where a request names none, as in one that follows a redirect.
func TestHostField(t *testing.T) {
	hosts := make(chan string, 1)
	u := origin(t, func(c net.Conn, _ int) {
		b := make([]byte, 4096)
		n, _ := c.Read(b)
		_, after, _ := strings.Cut(string(b[:n]), "\r\nHost: ")
		host, _, _ := strings.Cut(after, "\r\n")
		hosts <- host
		_, _ = io.WriteString(c, answer)
	})
	c, _ := client(t)
	for sent, want := range map[string]string{"": u.Host, "other.example": "other.example", "a\r\nX: y": "a  X: y"} {
		r := request(t, "GET", u, nil)
		r.Host = sent
		do(t, c, r)
		if got := <-hosts; got != want {
			t.Errorf("Host of %q: %q", sent, got)
		}
	}
}
