package http1_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"heed/internal/http1"
)

func TestHeaderIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"one answer":      "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 1000) + "\r\n",
		"interim answers": strings.Repeat("HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n", 1000) + answer,
		"one line":        "HTTP/1.1 200 " + strings.Repeat("x", 5000),
	} {
		var asked atomic.Int32
		u := origin(t, serve(text, &asked))
		c, _ := client(t, func(o *http1.Options) { o.HeaderBytes = 4 << 10 })
		if _, err := c.RoundTrip(request(t, "GET", u, nil)); !errors.Is(err, http1.ErrHeaderTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The bound is one of header sections, not of content.
func TestContentIsNotBounded(t *testing.T) {
	var asked atomic.Int32
	u := origin(t, serve("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("x", 100000), &asked))
	c, _ := client(t, func(o *http1.Options) { o.HeaderBytes = 1 << 10 })
	for range 2 {
		if body := do(t, c, request(t, "GET", u, nil)); len(body) != 100000 {
			t.Errorf("%d octets", len(body))
		}
	}
}

func TestHeaderTimeout(t *testing.T) {
	u := origin(t, func(c net.Conn, _ int) { _, _ = io.Copy(io.Discard, c) })
	c, _ := client(t, func(o *http1.Options) { o.ResponseHeaderTimeout = 50 * time.Millisecond })
	for _, body := range []io.Reader{nil, strings.NewReader("content")} {
		_, err := c.RoundTrip(request(t, "POST", u, body))
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("%v", err)
		}
	}
}

func TestCancellation(t *testing.T) {
	reason := errors.New("the reason")
	closed := make(chan struct{}, 1)
	u := origin(t, func(c net.Conn, _ int) {
		_, _ = http.ReadRequest(bufio.NewReader(c))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
		_, _ = io.Copy(io.Discard, c)
		closed <- struct{}{}
	})
	c, _ := client(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	res, err := c.RoundTrip(request(t, "GET", u, nil).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	cancel(reason)
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("the answer is whole")
	}
	_ = res.Body.Close()
	<-closed
	if _, err := c.RoundTrip(request(t, "GET", u, nil).WithContext(ctx)); err == nil {
		t.Error("a cancelled request was sent")
	}
	silent := origin(t, func(c net.Conn, _ int) { _, _ = io.Copy(io.Discard, c) })
	ctx, cancel = context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancel(reason) })
	if _, err := c.RoundTrip(request(t, "GET", silent, nil).WithContext(ctx)); !errors.Is(err, reason) {
		t.Errorf("%v", err)
	}
}

// A body that is closed before its end costs the connection, not more.
func TestCloseBeforeTheEnd(t *testing.T) {
	closed := make(chan struct{}, 1)
	u := origin(t, func(c net.Conn, _ int) {
		_, _ = http.ReadRequest(bufio.NewReader(c))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
		_, _ = io.Copy(io.Discard, c)
		closed <- struct{}{}
	})
	c, _ := client(t)
	res, err := c.RoundTrip(request(t, "GET", u, nil))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	<-closed
}
