package proxy_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"heed/policy"
)

// leg2 is a client's connection of HTTP/2 inside a tunnel, frame by frame.
type leg2 struct {
	t    *testing.T
	fr   *http2.Framer
	host string
	next uint32
}

func (h *heed) leg2(t *testing.T, url string) *leg2 {
	t.Helper()
	host := strings.TrimPrefix(url, "https://")
	name, _, _ := net.SplitHostPort(host)
	c := h.secureH2(h.tunnel(host), name)
	_, _ = io.WriteString(c, http2.ClientPreface)
	l := &leg2{t: t, fr: http2.NewFramer(c, c), host: host, next: 1}
	l.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = l.fr.WriteSettings()
	return l
}

// errStream is a stream that was reset, or a connection that is going away.
var errStream = errors.New("the stream is reset")

// ask sends a request without content and returns its header and whether that ends
// the stream. "#" stands for the host.
func (l *leg2) ask(fields ...[2]string) (*http2.MetaHeadersFrame, error) {
	l.t.Helper()
	id := l.next
	l.next += 2
	for i := range fields {
		fields[i][1] = strings.ReplaceAll(fields[i][1], "#", l.host)
	}
	_ = l.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndStream: true, EndHeaders: true, BlockFragment: block(fields...)})
	for {
		frame, err := l.fr.ReadFrame()
		if err != nil {
			return nil, err
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			if f.StreamID == id && !strings.HasPrefix(f.PseudoValue("status"), "1") {
				return f, nil
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == id {
				return nil, fmt.Errorf("%w: %v", errStream, f.ErrCode)
			}
		case *http2.GoAwayFrame:
			return nil, fmt.Errorf("%w: %v", errStream, f.ErrCode)
		}
	}
}

func get2(path string, more ...[2]string) [][2]string {
	return append([][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "#"}, {":path", path}}, more...)
}

// Over HTTP/2 an answer without content is its header, and that ends the stream.
func TestAnswersWithoutBodyOverHTTP2(t *testing.T) {
	for _, origin2 := range []bool{false, true} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			status := 200
			_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
			if r.URL.RawQuery != "" {
				w.Header().Set("Content-Length", r.URL.RawQuery)
			}
			w.WriteHeader(status)
		}))
		s.EnableHTTP2 = origin2
		s.StartTLS()
		t.Cleanup(s.Close)
		h := start(t, robots{all: disallowPrivate}, []*httptest.Server{s})
		l := h.leg2(t, s.URL)
		for _, tc := range []struct{ method, path, status, length string }{
			{"GET", "/204", "204", ""}, {"GET", "/304", "304", ""}, {"GET", "/205?0", "205", "0"}, {"GET", "/200?0", "200", "0"},
			{"HEAD", "/204", "204", ""}, {"HEAD", "/304", "304", ""}, {"HEAD", "/200", "200", ""}, {"HEAD", "/200?1234", "200", "1234"},
			{"HEAD", "/private/x", "403", "*"}, {"HEAD", "/404?5", "404", "5"},
		} {
			f, err := l.ask([2]string{":method", tc.method}, [2]string{":scheme", "https"}, [2]string{":authority", "#"}, [2]string{":path", tc.path})
			if err != nil {
				t.Fatalf("%v: %v", tc, err)
			}
			length := ""
			for _, field := range f.RegularFields() {
				if field.Name == "content-length" {
					length = field.Value
				}
			}
			if f.PseudoValue("status") != tc.status || !f.StreamEnded() || tc.length != "*" && length != tc.length {
				t.Errorf("origin of HTTP/2 %v, %v: %s, length %q, ended %v", origin2, tc, f.PseudoValue("status"), length, f.StreamEnded())
			}
		}
		h.wait(10)
	}
}

// RFC 9113 8.2.2: fields of a connection have no place in HTTP/2, and a request with
// one is malformed. What RFC 9110 keeps from travelling on does not either.
func TestFieldsOfAConnectionOverHTTP2(t *testing.T) {
	asked := make(chan http.Header, 1)
	_, secure := origins(t, func(_ http.ResponseWriter, r *http.Request) { asked <- r.Header })
	h := start(t, robots{}, []*httptest.Server{secure})
	for _, field := range [][2]string{{"connection", "x"}, {"keep-alive", "x"}, {"proxy-connection", "keep-alive"}, {"transfer-encoding", "chunked"},
		{"upgrade", "websocket"}, {"te", "gzip"}, {"x", "a\x00b"}, {"x", "a\rb"}, {":x", "y"}, {"", "y"}, {"x y", "z"}, {":path", "/y"}} {
		f, err := h.leg2(t, secure.URL).ask(get2("/x", field)...)
		if err == nil && f.PseudoValue("status") != "400" {
			t.Errorf("%q: %s", field, f.PseudoValue("status"))
		}
		if err != nil && !errors.Is(err, errStream) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v", field, err)
		}
	}
	if len(asked) > 0 {
		t.Fatalf("the origin was asked: %v", <-asked)
	}
	f, err := h.leg2(t, secure.URL).ask(get2("/x", [2]string{"proxy-authorization", "Basic x"}, [2]string{"proxy-authenticate", "x"}, [2]string{"http2-settings", "x"},
		[2]string{"te", "trailers"}, [2]string{"x-kept", "1"}, [2]string{"user-agent", "bot"})...)
	if err != nil || f.PseudoValue("status") != "200" {
		t.Fatalf("%v %v", f, err)
	}
	if got := pseudonymless(fmt.Sprint(<-asked)); got != "map[Te:[trailers] User-Agent:[bot] Via:[2 heed-*] X-Kept:[1]]" {
		t.Errorf("the origin got %s", got)
	}
}

// A tunnel inside a tunnel is refused, over HTTP/2 too, and so is a WebSocket (RFC
// 8441), which is not offered.
func TestConnectOverHTTP2(t *testing.T) {
	_, secure := origins(t, func(http.ResponseWriter, *http.Request) { t.Error("the origin was asked") })
	h := start(t, robots{}, []*httptest.Server{secure})
	f, err := h.leg2(t, secure.URL).ask([2]string{":method", "CONNECT"}, [2]string{":authority", "#"})
	if err != nil || f.PseudoValue("status") != "400" {
		t.Errorf("CONNECT: %v %v", f, err)
	}
	if r := recorded(h, 1); r.Decision.Verdict != policy.Error || r.Status != 400 {
		t.Errorf("record %+v", r)
	}
	if f, err := h.leg2(t, secure.URL).ask(get2("/chat", [2]string{":protocol", "websocket"})...); !errors.Is(err, errStream) {
		t.Errorf("extended CONNECT: %v %v", f, err)
	}
}

// What is idempotent is sent once more over HTTP/2 too, where the connection ends
// without a word (RFC 9113 6.8) of what the origin has seen.
func TestStaleConnectionsOfHTTP2(t *testing.T) {
	for method, again := range map[string]bool{"GET": true, "HEAD": true, "OPTIONS": true, "POST": false, "PATCH": false, "FROB": false} {
		t.Run(method, func(t *testing.T) {
			cert := httptest.NewTLSServer(nil)
			t.Cleanup(cert.Close)
			var conns, asked atomic.Int32
			host := rawOrigin(t, func(c net.Conn) {
				first := conns.Add(1) == 1
				s := tls.Server(c, &tls.Config{Certificates: cert.TLS.Certificates, NextProtos: []string{"h2"}})
				_, _ = io.ReadFull(s, make([]byte, len(http2.ClientPreface)))
				fr := http2.NewFramer(s, s)
				_ = fr.WriteSettings()
				for n := 0; ; {
					frame, err := fr.ReadFrame()
					if err != nil {
						return
					}
					f, ok := frame.(*http2.HeadersFrame)
					if !ok {
						continue
					}
					asked.Add(1)
					if n++; n == 2 || !first {
						return // instead of an answer, on every connection from now on
					}
					_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: f.StreamID, EndStream: true, EndHeaders: true, BlockFragment: block([2]string{":status", "204"})})
				}
			})
			h := start(t, robots{}, []*httptest.Server{cert})
			l := h.leg("https://" + host)
			l.send("GET @/first HTTP/1.1\r\nHost: #\r\n\r\n")
			l.answer("GET")
			l.send(method + " @/x HTTP/1.1\r\nHost: #\r\nContent-Length: 0\r\n\r\n")
			res, _ := l.answer(method)
			explained(t, res, 502, "connection_terminated")
			if want := map[bool]int32{true: 3, false: 2}[again]; asked.Load() != want {
				t.Errorf("sent %d times", asked.Load()-1)
			}
		})
	}
}

// An origin of HTTP/2 that falls silent costs those who wait for it, not those who
// come later.
func TestSilentConnectionOfHTTP2IsLeft(t *testing.T) {
	cert := httptest.NewTLSServer(nil)
	t.Cleanup(cert.Close)
	first := make(chan bool, 1)
	first <- true
	host := rawOrigin(t, func(c net.Conn) {
		falls := false
		select {
		case falls = <-first:
		default:
		}
		s := tls.Server(c, &tls.Config{Certificates: cert.TLS.Certificates, NextProtos: []string{"h2"}})
		_, _ = io.ReadFull(s, make([]byte, len(http2.ClientPreface)))
		fr := http2.NewFramer(s, s)
		_ = fr.WriteSettings()
		for n := 0; ; {
			frame, err := fr.ReadFrame()
			if err != nil {
				return
			}
			if f, ok := frame.(*http2.HeadersFrame); ok && (n == 0 || !falls) {
				n++
				_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: f.StreamID, EndStream: true, EndHeaders: true, BlockFragment: block([2]string{":status", "204"})})
			}
		}
	})
	h := start(t, robots{}, []*httptest.Server{cert})
	ask := func() int {
		l := h.leg("https://" + host)
		_ = l.SetDeadline(time.Now().Add(30 * time.Second))
		l.send("GET @/x HTTP/1.1\r\nHost: #\r\n\r\n")
		res, _ := l.answer("GET")
		return res.StatusCode
	}
	if status := ask(); status != 204 {
		t.Fatalf("status %d", status)
	}
	tries := 1
	for ask() != 204 {
		if tries++; tries > 5 {
			t.Fatal("each request goes to the silent connection")
		}
	}
}
