package proxy

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
)

// listenConfig makes c the configuration of a proxy port that speaks TLS: an
// https:// proxy URL. A CONNECT cannot be hijacked out of HTTP/2, so that is not
// offered.
func listenConfig(c *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	c = c.Clone()
	c.NextProtos = []string{"http/1.1"}
	c.MinVersion = max(c.MinVersion, tls.VersionTLS12)
	return c
}

// secured returns the connection of a client of the proxy port, inside TLS where
// the port speaks that. The handshake comes with the first read, which net/http
// bounds like a header.
func (p *Proxy) secured(c net.Conn) net.Conn {
	if p.listenTLS == nil {
		return c
	}
	return tls.Server(c, p.listenTLS)
}

// noTLS deals with a handshake on the proxy port that failed. It returns an error
// upon which net/http closes the connection and says nothing.
func (c *httpConn) noTLS(err error) error {
	var record tls.RecordHeaderError
	if errors.As(err, &record) && record.Conn != nil && isMethodStart(record.RecordHeader[0]) {
		_, _ = record.Conn.Write(c.refusal(http.StatusBadRequest, "", "", "this port speaks TLS: the URL of this proxy begins with https://"))
		c.Conn = record.Conn
		c.linger()
		return io.EOF
	}
	c.p.log.Debug("TLS handshake on the proxy port failed", "client", c.RemoteAddr(), "error", err)
	return io.EOF
}
