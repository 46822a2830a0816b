package load

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// dial opens a connection on which requests for host can be sent, and returns
// it with the reader that has what was read ahead.
func (s *session) dial(host string) (net.Conn, *bufio.Reader, error) {
	address := host
	if s.t.Proxy != "" {
		address = s.t.Proxy
	}
	raw, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(s.ctx, "tcp", address)
	if err != nil {
		return nil, nil, err
	}
	if !s.add(raw) {
		_ = raw.Close()
		return nil, nil, context.Canceled
	}
	conn, err := s.secure(raw, host)
	if err != nil {
		s.close(raw)
		return nil, nil, err
	}
	size := 4 << 10
	if s.w.Size >= large {
		size = 64 << 10
	}
	return conn, bufio.NewReaderSize(conn, size), nil
}

// KeyExchange is what is offered to proxies and origins: what all of them speak, so
// that all do the same work. OpenSSL knows hybrid ones from 3.5 on.
var KeyExchange = []tls.CurveID{tls.X25519, tls.CurveP256}

// secure adds the tunnel and the TLS that the work asks for.
func (s *session) secure(raw net.Conn, host string) (net.Conn, error) {
	if s.w.Via == Plain {
		return raw, nil
	}
	if s.t.Proxy != "" {
		if err := connect(raw, host); err != nil {
			return nil, err
		}
	}
	name, _, _ := net.SplitHostPort(host)
	protocol := "http/1.1"
	if s.w.Streams > 0 {
		protocol = "h2"
	}
	conn := tls.Client(raw, &tls.Config{
		ServerName: name, NextProtos: []string{protocol}, VerifyConnection: func(state tls.ConnectionState) error { return s.verify(state, name) },
		InsecureSkipVerify: true, // verify says all that matters here: whose certificate it is
		CurvePreferences:   KeyExchange,
	})
	if err := conn.HandshakeContext(s.ctx); err != nil {
		return nil, fmt.Errorf("TLS with %s: %w", host, err)
	}
	if got := conn.ConnectionState().NegotiatedProtocol; s.w.Streams > 0 && got != protocol {
		return nil, fmt.Errorf("the protocol is %q, not h2", got)
	}
	return conn, nil
}

// verify sees to it that the work is done at all: an interceptor has to show a
// certificate of its own, for the host; a tunnel has to show the origin's.
func (s *session) verify(state tls.ConnectionState, host string) error {
	leaf := state.PeerCertificates[0]
	if s.w.Hosts {
		// squid names an address in the subject, as nobody does any more.
		if err := leaf.VerifyHostname(host); err != nil && leaf.Subject.CommonName != host {
			return err
		}
	}
	origin := leaf.Issuer.CommonName == s.t.Issuer
	if intercepted := s.w.Via == Intercept && s.t.Proxy != ""; origin == intercepted {
		return fmt.Errorf("the certificate is by %q", leaf.Issuer.CommonName)
	}
	return nil
}

// connect asks for a tunnel. It reads octet by octet, so as to leave what follows.
func connect(conn net.Conn, host string) error {
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host); err != nil {
		return err
	}
	var head []byte
	for buf := make([]byte, 1<<10); !bytes.HasSuffix(head, []byte("\r\n\r\n")); {
		// Nobody speaks before the client does: TLS begins with its hello.
		n, err := conn.Read(buf)
		if err != nil {
			return fmt.Errorf("CONNECT: %w", err)
		}
		if head = append(head, buf[:n]...); len(head) > 16<<10 {
			return errors.New("CONNECT: an answer without an end")
		}
	}
	if status, err := statusOf(head); err != nil || status != 200 {
		line, _, _ := bytes.Cut(head, []byte("\r\n"))
		return fmt.Errorf("CONNECT: %q", line)
	}
	return nil
}

// statusOf reads the status out of a status line (RFC 9112 4).
func statusOf(line []byte) (int, error) {
	if len(line) < len("HTTP/1.1 200") || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return 0, fmt.Errorf("no status line: %q", line)
	}
	return strconv.Atoi(string(line[9:12]))
}
