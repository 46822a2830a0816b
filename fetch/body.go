package fetch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// encodedSlack is what an encoded body may be longer than the decoded one: a
// gzip stream can go on for ever and decode to nothing.
const encodedSlack = 64 << 10

// bombRatio is how much longer than its encoded form an oversized file may be.
// Real ones, repetitive as they are, stay well below it; deflate reaches 1,000.
const bombRatio = 100

// readBody returns the decoded body of resp. One longer than max is cut after
// the last line that fits, and the rest is not asked for. A body that breaks
// off before its end is an error: the rules that are missing may be the ones
// that disallow. So is one of which no line fits, or that was made to be larger
// than anybody can read: it says nothing that could be obeyed.
func readBody(resp *http.Response, max int64) (body []byte, cut bool, err error) {
	sent := &counter{r: http.MaxBytesReader(nil, resp.Body, max+encodedSlack)}
	raw := bufio.NewReader(sent)
	switch _, err := raw.Peek(1); {
	case err == io.EOF: // and no error that wraps it, which would be a broken body
		return nil, false, nil // no body is no rules, whatever its encoding
	case err != nil:
		return nil, false, fmt.Errorf("body: %w", err)
	}
	decoded, err := decode(raw, resp.Header)
	if err != nil {
		return nil, false, err
	}
	body, err = io.ReadAll(io.LimitReader(decoded, max+1))
	if int64(len(body)) > max {
		if (sent.n-int64(raw.Buffered()))*bombRatio < max {
			return nil, false, errors.New("the body is a compression bomb")
		}
		if body = fullLines(body, int(max)); len(body) == 0 {
			return nil, false, errors.New("no line of the body ends within the size limit")
		}
		return body, true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("body: %w", err)
	}
	return body, false, nil
}

// counter counts what is read through it.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func decode(r io.Reader, header http.Header) (io.Reader, error) {
	switch encoding := strings.ToLower(strings.Join(header.Values("Content-Encoding"), ", ")); encoding {
	case "", "identity":
		return r, nil
	case "gzip", "x-gzip": // RFC 9110 8.4.1.3
		gz, err := gzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
		return gz, nil
	default:
		return nil, fmt.Errorf("body in an encoding that was not asked for: %.40q", encoding)
	}
}

// fullLines returns the lines of body that end within max octets. body is
// longer than max.
func fullLines(body []byte, max int) []byte {
	if c := body[max]; c == '\n' || c == '\r' {
		return body[:max] // the end of a line needs no line end
	}
	return body[:bytes.LastIndexAny(body[:max], "\r\n")+1]
}
