package proxy_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// wire is one message of HTTP/1.1 as the strictest reader would have it.
type wire struct {
	line   string // request line or status line
	fields map[string][]string
	body   string
}

var (
	wireRequest = regexp.MustCompile("^[-!#$%&'*+.^_`|~0-9A-Za-z]+ [^\\x00-\\x20\\x7f]+ HTTP/1\\.1$")
	wireStatus  = regexp.MustCompile(`^HTTP/1\.1 [1-9][0-9][0-9] [^\x00-\x08\x0a-\x1f\x7f]*$`)
	wireField   = regexp.MustCompile("^([-!#$%&'*+.^_`|~0-9A-Za-z]+): ?([^\\x00-\\x08\\x0a-\\x1f\\x7f]*)$")
	wireSize    = regexp.MustCompile("^(0|[1-9a-f][0-9a-f]*)$")
	wireLength  = regexp.MustCompile("^(0|[1-9][0-9]*)$")
)

// errCut says that a message is well-formed so far and not at its end.
var errCut = errors.New("incomplete")

// parseWire reads the message with which b begins, and returns what follows it.
// Nothing is forgiven: one way to write each thing, and one framing.
func parseWire(b []byte, first *regexp.Regexp) (m wire, rest []byte, err error) {
	head, rest, ok := bytes.Cut(b, []byte("\r\n\r\n"))
	if !ok {
		return m, nil, errCut
	}
	line, fields, _ := strings.Cut(string(head), "\r\n")
	if m.line = line; !first.MatchString(line) {
		return m, nil, fmt.Errorf("first line %q", line)
	}
	if m.fields, err = parseWireFields(fields); err != nil {
		return m, nil, err
	}
	if first == wireRequest && len(m.fields["host"]) != 1 {
		return m, nil, fmt.Errorf("%d Host fields", len(m.fields["host"]))
	}
	length, coding := m.fields["content-length"], m.fields["transfer-encoding"]
	status := strings.TrimPrefix(line, "HTTP/1.1 ")
	bodiless := first == wireStatus && (status[0] == '1' || strings.HasPrefix(status, "204") || strings.HasPrefix(status, "304"))
	switch {
	case len(length)+len(coding) > 1:
		return m, nil, fmt.Errorf("framed by %q and %q", length, coding)
	case bodiless && (coding != nil || length != nil && !strings.HasPrefix(status, "304")):
		return m, nil, fmt.Errorf("%s framed by %q and %q", status, length, coding)
	case bodiless:
	case coding != nil:
		if coding[0] != "chunked" {
			return m, nil, fmt.Errorf("coding %q", coding)
		}
		m.body, rest, err = parseChunks(rest)
	case length != nil:
		n, lengthErr := strconv.Atoi(length[0])
		if lengthErr != nil || !wireLength.MatchString(length[0]) {
			return m, nil, fmt.Errorf("length %q", length)
		}
		if len(rest) < n {
			return m, nil, errCut
		}
		m.body, rest = string(rest[:n]), rest[n:]
	case first == wireStatus: // to the end of the connection
		m.body, rest = string(rest), nil
	}
	return m, rest, err
}

func parseWireFields(text string) (map[string][]string, error) {
	fields := map[string][]string{}
	if text == "" {
		return fields, nil
	}
	for line := range strings.SplitSeq(text, "\r\n") {
		f := wireField.FindStringSubmatch(line)
		if f == nil {
			return nil, fmt.Errorf("field line %.200q", line)
		}
		name := strings.ToLower(f[1])
		fields[name] = append(fields[name], f[2])
	}
	return fields, nil
}

func parseChunks(b []byte) (body string, rest []byte, err error) {
	for {
		line, after, ok := bytes.Cut(b, []byte("\r\n"))
		if !ok {
			return body, nil, errCut
		}
		if !wireSize.Match(line) {
			return body, nil, fmt.Errorf("chunk size %.100q", line)
		}
		n, err := strconv.ParseInt(string(line), 16, 32)
		if err != nil {
			return body, nil, err
		}
		if n == 0 {
			b = after
			break
		}
		if len(after) < int(n)+2 {
			return body, nil, errCut
		}
		if string(after[n:n+2]) != "\r\n" {
			return body, nil, errors.New("a chunk does not end")
		}
		body, b = body+string(after[:n]), after[n+2:]
	}
	if after, ok := bytes.CutPrefix(b, []byte("\r\n")); ok {
		return body, after, nil
	}
	trailer, rest, ok := bytes.Cut(b, []byte("\r\n\r\n"))
	if !ok {
		return body, nil, errCut
	}
	fields, err := parseWireFields(string(trailer))
	for _, name := range []string{"host", "content-length", "transfer-encoding", "connection"} {
		if fields[name] != nil {
			err = fmt.Errorf("%s in the trailer", name)
		}
	}
	return body, rest, err
}
