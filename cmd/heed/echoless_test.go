package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"heed/internal/ca"
)

// endMark is how the content of echoless ends, and nothing else does.
const endMark = "the last octets!"

// echoless is an origin that allocates nothing for a request: it has its answers
// ready and looks for nothing but where a request ends. It knows thirty rules.
type echoless struct {
	addr   string
	secure bool
	roots  []byte // PEM
}

func newEcholess(t testing.TB, secure bool) *echoless {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	o := &echoless{addr: l.Addr().String(), secure: secure}
	var config *tls.Config
	if secure {
		s := httptest.NewTLSServer(nil) // for its certificate
		t.Cleanup(s.Close)
		config = &tls.Config{Certificates: s.TLS.Certificates}
		o.roots = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	}
	robots, page := answerOf([]byte(thirtyRules())), answerOf([]byte(strings.Repeat("x", 1024-len(endMark))+endMark))
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if secure {
				c = tls.Server(c, config)
			}
			go answerAll(c, robots, page)
		}
	}()
	return o
}

func thirtyRules() string {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range 10 {
		fmt.Fprintf(&b, "Disallow: /cgi-bin/%d/\nDisallow: /*?sort=%d\nAllow: /media/%d/*.css$\n", i, i, i)
	}
	return b.String()
}

func answerOf(content []byte) []byte {
	return append(fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", len(content)), content...)
}

func answerAll(c net.Conn, robots, page []byte) {
	defer c.Close()
	buf := make([]byte, 64<<10)
	for n := 0; ; {
		m, err := c.Read(buf[n:])
		if err != nil {
			return
		}
		if n += m; !bytes.HasSuffix(buf[:n], []byte("\r\n\r\n")) {
			continue
		}
		answer := page
		if bytes.HasPrefix(buf, []byte("GET /robots.txt ")) {
			answer = robots
		}
		if n = 0; !writeAll(c, answer) {
			return
		}
	}
}

func writeAll(c net.Conn, octets []byte) bool {
	_, err := c.Write(octets)
	return err == nil
}

// visitor asks for the same page again and again on one connection, and allocates
// nothing for it.
type visitor struct {
	conn    net.Conn
	request []byte
	buf     []byte
}

func newVisitor(t testing.TB, proxy string, authority *ca.Authority, o *echoless) *visitor {
	t.Helper()
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	a := &visitor{conn: conn, buf: make([]byte, 8<<10)}
	target := "http://" + o.addr + "/articles/2024/page.html?id=7"
	if o.secure {
		fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", o.addr, o.addr)
		if n, err := conn.Read(a.buf); err != nil || !bytes.HasPrefix(a.buf, []byte("HTTP/1.1 200 ")) {
			t.Fatalf("CONNECT: %q %v", a.buf[:n], err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(authority.PEM())
		a.conn = tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"})
		target = "/articles/2024/page.html?id=7"
	}
	a.request = fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bot/1.0\r\nAccept: */*\r\n\r\n", target, o.addr)
	return a
}

func (a *visitor) ask(t testing.TB) {
	if !writeAll(a.conn, a.request) {
		t.Fatal("the connection is closed")
	}
	for n := 0; !bytes.HasSuffix(a.buf[:n], []byte(endMark)); {
		m, err := a.conn.Read(a.buf[n:])
		if n += m; err != nil {
			t.Fatalf("%q %v", a.buf[:n], err)
		}
	}
	if !bytes.HasPrefix(a.buf, []byte("HTTP/1.1 200 ")) {
		t.Fatalf("%q", a.buf)
	}
}
