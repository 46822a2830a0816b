package http1

import (
	"bufio"
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// framed are the fields that are not taken from the header as they are.
var framed = map[string]bool{"Host": true, "User-Agent": true, "Content-Length": true, "Transfer-Encoding": true, "Trailer": true}

// writeHead writes the header section into the buffer. A User-Agent of "" is none.
// An error is the connection's.
func (c *conn) writeHead(r *http.Request) error {
	w := c.bw
	_, _ = w.WriteString(r.Method)
	_ = w.WriteByte(' ')
	if err := c.writeTarget(r); err != nil {
		return err
	}
	_, _ = w.WriteString(" HTTP/1.1\r\n")
	field(w, "Host", hostOf(r))
	for _, agent := range r.Header["User-Agent"] {
		if agent != "" {
			field(w, "User-Agent", agent)
		}
	}
	writeFraming(w, r)
	if c.client.options.Authorization != "" {
		field(w, "Proxy-Authorization", c.client.options.Authorization)
	}
	if err := r.Header.WriteSubset(w, framed); err != nil {
		return err
	}
	_, err := w.WriteString("\r\n")
	return err
}

// errTarget is a request-target that would not stay one.
var errTarget = errors.New("a request-target with white space or control characters")

func (c *conn) writeTarget(r *http.Request) error {
	w := c.bw
	target := r.URL.RequestURI()
	for i := range len(target) {
		if target[i] <= ' ' || target[i] == 0x7f {
			return errTarget
		}
	}
	if c.client.options.Forward && !strings.HasPrefix(target, r.URL.Scheme+"://") {
		_, _ = w.WriteString(r.URL.Scheme)
		_, _ = w.WriteString("://")
		_, _ = w.WriteString(hostOf(r))
		// RFC 9112 3.2.4: to a proxy, the server itself is a URL without a path.
		if target == "*" {
			return nil
		}
	}
	_, err := w.WriteString(target)
	return err
}

func hostOf(r *http.Request) string { return cmp.Or(r.Host, r.URL.Host) }

// writeFraming says how long the content is (RFC 9110 8.6, RFC 9112 6).
func writeFraming(w *bufio.Writer, r *http.Request) {
	switch {
	case !hasBody(r):
		switch r.Method {
		case http.MethodPost, http.MethodPut, http.MethodPatch:
			_, _ = w.WriteString("Content-Length: 0\r\n")
		}
	case r.ContentLength > 0:
		_, _ = w.WriteString("Content-Length: ")
		_, _ = w.Write(strconv.AppendInt(w.AvailableBuffer(), r.ContentLength, 10))
		_, _ = w.WriteString("\r\n")
	default:
		_, _ = w.WriteString("Transfer-Encoding: chunked\r\n")
		if len(r.Trailer) > 0 {
			names := make([]string, 0, len(r.Trailer))
			for name := range r.Trailer {
				names = append(names, name)
			}
			slices.Sort(names)
			field(w, "Trailer", strings.Join(names, ","))
		}
	}
}

func field(w *bufio.Writer, name, value string) {
	_, _ = w.WriteString(name)
	_, _ = w.WriteString(": ")
	_, _ = newlines.WriteString(w, value)
	_, _ = w.WriteString("\r\n")
}

// newlines keeps a value on its line.
var newlines = strings.NewReplacer("\n", " ", "\r", " ")

func expects100(r *http.Request) bool {
	for _, value := range r.Header["Expect"] {
		if strings.EqualFold(strings.TrimSpace(value), "100-continue") {
			return true
		}
	}
	return false
}
