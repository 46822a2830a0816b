package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	decoded, done, err := decode(raw, resp.Header)
	if err != nil {
		return nil, false, err
	}
	defer done()
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
	// A coding that knows its own end may reach it before the body does.
	switch _, err := raw.Peek(1); {
	case err == nil:
		return nil, false, errors.New("body: more octets after the end of the encoded file")
	case err != io.EOF:
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

// fullLines returns the lines of body that end within max octets. body is
// longer than max.
func fullLines(body []byte, max int) []byte {
	switch {
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return fullLines16(body, max, 0)
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return fullLines16(body, max, 1)
	}
	if c := body[max]; c == '\n' || c == '\r' {
		return body[:max] // the end of a line needs no line end
	}
	return body[:bytes.LastIndexAny(body[:max], "\r\n")+1]
}

// fullLines16 is fullLines for UTF-16, where an octet that looks like a line end
// may be half of another character. low is where the low octet of a unit lies.
func fullLines16(body []byte, max, low int) []byte {
	for i := max &^ 1; i > 0; i -= 2 {
		if i+1 < len(body) && body[i+1-low] == 0 && (body[i+low] == '\n' || body[i+low] == '\r') {
			return body[:i]
		}
	}
	return nil
}
