package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"heed/policy"
)

// countDown heeds Max-Forwards, which bounds the way of a TRACE or OPTIONS request
// (RFC 9110 7.6.2), and returns heed's own answer where the way ends here.
func (x *exchange) countDown(r *http.Request) *http.Response {
	if r.Method != http.MethodTrace && r.Method != http.MethodOptions {
		return nil
	}
	if r.Method == http.MethodTrace && x.upload != nil {
		return x.bad(r, policy.ReasonBadRequest, errors.New("TRACE has no content (RFC 9110, section 9.3.8)"))
	}
	values := r.Header["Max-Forwards"]
	if values == nil {
		return nil
	}
	left, err := strconv.ParseUint(values[0], 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil // and left is as much as heed can count
	}
	if err != nil || len(values) > 1 {
		return x.bad(r, policy.ReasonBadRequest, fmt.Errorf("Max-Forwards %q is not a number", values))
	}
	if left > 0 {
		r.Header["Max-Forwards"] = []string{strconv.FormatUint(left-1, 10)}
		return nil
	}
	if r.Method == http.MethodTrace {
		return x.final(r, "message/http", traceOf(r))
	}
	return x.final(r, "", nil)
}

// final is the answer of heed as the last recipient of a request.
func (x *exchange) final(r *http.Request, contentType string, body []byte) *http.Response {
	h := http.Header{
		"Content-Length": {strconv.Itoa(len(body))},
		"Content-Type":   nil,
		"Cache-Control":  {"no-store"},
		"Proxy-Status":   {statusName + "; details=" + sfString("answered by heed: Max-Forwards was 0")},
	}
	if contentType != "" {
		h["Content-Type"] = []string{contentType}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}

// traceOf writes the request as it came (RFC 9110 9.3.8), without what could be a
// secret: a script must not read through TRACE what it may not read otherwise.
func traceOf(r *http.Request) []byte {
	h := r.Header.Clone()
	for _, secret := range []string{"Authorization", "Proxy-Authorization", "Cookie"} {
		h.Del(secret)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s %s\r\nHost: %s\r\n", r.Method, r.RequestURI, r.Proto, r.Host)
	_ = h.Write(&b) // a buffer takes everything
	b.WriteString("\r\n")
	return b.Bytes()
}
