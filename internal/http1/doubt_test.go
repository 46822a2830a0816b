package http1_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"heed/internal/http1"
)

// A 101 that nobody asked for ends the exchange: what the origin keeps open must
// not keep a reader, whose context would be of no help.
func TestUnaskedSwitchHasNoContent(t *testing.T) {
	closed := make(chan struct{}, 2)
	u := origin(t, func(c net.Conn, _ int) {
		_, _ = http.ReadRequest(bufio.NewReader(c))
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
		closed <- struct{}{}
	})
	c, _ := client(t)
	for _, body := range []io.Reader{nil, strings.NewReader("content")} {
		res, err := c.RoundTrip(request(t, "POST", u, body))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, res.Body); res.StatusCode != 101 || n != 0 || err != nil {
			t.Errorf("%d, %d octets, %v", res.StatusCode, n, err)
		}
		_ = res.Body.Close()
		<-closed
	}
}

// What switches is the caller's to read and to write.
func TestSwitch(t *testing.T) {
	u := origin(t, func(c net.Conn, _ int) {
		br := bufio.NewReader(c)
		_, _ = http.ReadRequest(br)
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello")
		_, _ = io.Copy(c, br)
	})
	c, _ := client(t)
	r := request(t, "GET", u, nil)
	r.Header.Set("Upgrade", "x")
	res, err := c.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	w, ok := res.Body.(interface {
		io.Writer
		CloseWrite() error
	})
	if !ok {
		t.Fatalf("%T cannot be written to", res.Body)
	}
	_, _ = io.WriteString(w, " and back")
	_ = w.CloseWrite()
	if got, err := io.ReadAll(res.Body); string(got) != "hello and back" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}

// unread is a body that says when it is read and when it is closed.
type unread struct {
	read   atomic.Bool
	closed chan struct{}
	once   sync.Once
}

func (u *unread) Read([]byte) (int, error) {
	u.read.Store(true)
	return 0, io.EOF
}

func (u *unread) Close() error {
	u.once.Do(func() { close(u.closed) })
	return nil
}

// A body that waits for a 100 is not read once it is known that none comes: the
// client would be asked for what nobody takes.
func TestContentIsNotAskedForAfterAFailure(t *testing.T) {
	for name, text := range map[string]string{"closed": "", "no HTTP": "SSH-2.0\r\n\r\n", "refused": "HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			u := origin(t, func(c net.Conn, _ int) {
				_, _ = bufio.NewReader(c).ReadString('\n')
				_, _ = io.WriteString(c, text)
			})
			c, _ := client(t, func(o *http1.Options) { o.ContinueTimeout = time.Hour })
			body := &unread{closed: make(chan struct{})}
			r := request(t, "POST", u, nil)
			r.Body, r.ContentLength = body, 5
			r.Header.Set("Expect", "100-continue")
			res, err := c.RoundTrip(r)
			if (err == nil) != (name == "refused") {
				t.Errorf("%v", err)
			}
			if err == nil {
				_ = res.Body.Close()
			}
			<-body.closed
			if body.read.Load() {
				t.Error("the body was read")
			}
		})
	}
}

// A 100 lets the content go, and so does the lack of one.
func TestContentFollows(t *testing.T) {
	for name, first := range map[string]string{"a 100": "HTTP/1.1 100 Continue\r\n\r\n", "nothing": ""} {
		var asked atomic.Int32
		u := origin(t, func(c net.Conn, n int) {
			_, _ = io.WriteString(c, first)
			serve(answer, &asked)(c, n)
		})
		c, _ := client(t, func(o *http1.Options) {
			o.ContinueTimeout = map[bool]time.Duration{true: time.Millisecond, false: time.Hour}[first == ""]
		})
		r := request(t, "POST", u, strings.NewReader("content"))
		r.Header.Set("Expect", "100-continue")
		if body := do(t, c, r); body != "hello" || asked.Load() != 1 {
			t.Errorf("%s: %q", name, body)
		}
	}
}

// hidden is a connection whose socket cannot be asked.
type hidden struct{ net.Conn }

// Where nobody can tell whether a kept connection is closed, what may not be
// repeated is not sent on it.
func TestWhatIsSentOnceTakesNoDoubtfulConnection(t *testing.T) {
	var asked atomic.Int32
	u := origin(t, func(c net.Conn, _ int) { // closes after each answer, and does not say so
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			asked.Add(1)
			_, _ = io.WriteString(c, answer)
		}
	})
	c, dialled := client(t, func(o *http1.Options) {
		dial := o.Dial
		o.Dial = func(ctx context.Context, u *url.URL) (net.Conn, error) {
			c, err := dial(ctx, u)
			return hidden{c}, err
		}
	})
	for range 10 {
		do(t, c, request(t, "GET", u, nil))
		do(t, c, request(t, "POST", u, strings.NewReader("content")))
	}
	if asked.Load() != 20 || dialled.Load() != 20 {
		t.Errorf("%d requests on %d connections", asked.Load(), dialled.Load())
	}
}

// A connection that is handed in is used at once, whatever has come on it: under
// TLS that is session tickets.
func TestConnectionThatIsHandedIn(t *testing.T) {
	var asked atomic.Int32
	u := origin(t, serve(answer, &asked))
	c, dialled := client(t)
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	if c.Keep(u, conn); !c.Kept(u) {
		t.Error("it was not kept")
	}
	for range 2 {
		do(t, c, request(t, "POST", u, strings.NewReader("content")))
	}
	if dialled.Load() != 0 || asked.Load() != 2 {
		t.Errorf("%d more connections", dialled.Load())
	}
}
