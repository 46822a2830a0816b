package proxy_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// An answer that ends with its header over HTTP/2 does so for the client, too. gRPC
// finds the status of a failed call there and nowhere else.
func TestAnswerThatEndsWithItsHeader(t *testing.T) {
	cert := httptest.NewTLSServer(nil)
	t.Cleanup(cert.Close)
	origin := rawOrigin(t, func(c net.Conn) {
		s := tls.Server(c, &tls.Config{Certificates: cert.TLS.Certificates, NextProtos: []string{"h2"}})
		defer s.Close()
		if _, err := io.ReadFull(s, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		fr := http2.NewFramer(s, s)
		_ = fr.WriteSettings()
		for {
			frame, err := fr.ReadFrame()
			if err != nil {
				return
			}
			if f, ok := frame.(*http2.HeadersFrame); ok {
				_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: f.StreamID, EndStream: true, EndHeaders: true,
					BlockFragment: block([2]string{":status", "200"}, [2]string{"grpc-status", "5"})})
			}
		}
	})
	h := start(t, robots{}, []*httptest.Server{cert})
	for range 20 {
		c := h.secureH2(h.tunnel(origin), "127.0.0.1")
		_, _ = io.WriteString(c, http2.ClientPreface)
		fr := http2.NewFramer(c, c)
		_ = fr.WriteSettings()
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true, EndHeaders: true, BlockFragment: block(
			[2]string{":method", "POST"}, [2]string{":scheme", "https"}, [2]string{":authority", origin}, [2]string{":path", "/x"})})
		for {
			frame, err := fr.ReadFrame()
			if err != nil {
				t.Fatal(err)
			}
			if f, ok := frame.(*http2.HeadersFrame); ok {
				if !f.StreamEnded() {
					t.Fatal("the header does not end the stream")
				}
				break
			}
		}
		_ = c.Close()
	}
}

// block encodes fields for HTTP/2.
func block(fields ...[2]string) []byte {
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	for _, f := range fields {
		_ = enc.WriteField(hpack.HeaderField{Name: strings.ToLower(f[0]), Value: f[1]})
	}
	return b.Bytes()
}
