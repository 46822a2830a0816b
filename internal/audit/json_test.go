package audit

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"heed/policy"
	"heed/proxy"
)

func TestWhatDoesNotPrintIsEscaped(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"quote and backslash", `a"b\c`, `"a\"b\\c"`},
		{"line ends", "a\r\nb\tc", `"a\r\nb\tc"`},
		{"control characters", "\x00\x1b[31m\x7f", `"\u0000\u001b[31m\u007f"`},
		{"next line and line separator", "\u0085\u2028\u2029", `"\u0085\u2028\u2029"`},
		{"direction override", "\u202e", `"\u202e"`},
		{"beyond the basic plane", "\U000e0001", `"\udb40\udc01"`},
		{"what prints stays", "é漢🤖<&>", `"é漢🤖<&>"`},
		{"not UTF-8", "a\xff\xc3", `"a\ufffd\ufffd"`},
		{"a replacement character that was sent", "\ufffd", "\"\ufffd\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(appendString(nil, tt.in)); got != tt.want {
				t.Errorf("appendString(%q): got %s, want %s", tt.in, got, tt.want)
			}
		})
	}
}

// asEncodingJSON is what a string becomes on its way through encoding/json.
func asEncodingJSON(t *testing.T, s string) (out string) {
	t.Helper()
	b, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatalf("encoding/json on %q: %v", s, err)
	}
	return out
}

func FuzzAppend(f *testing.F) {
	f.Add("GET", "http://h.example/?a=\xff", "Disallow: /\u2028", "broken \"pipe\"\n", int64(1), 12, true)
	f.Add("", "http://u:p@h.example/?x#y", "", "Get \"http://u:p@h.example/?x\": EOF", int64(-1), -1, false)
	f.Add("\x00", "://@?#", "\xed\xa0\x80", "\\u0041", int64(1<<62), 0, true)
	f.Fuzz(func(t *testing.T, method, url, rule, cause string, n int64, line int, yes bool) {
		for _, query := range []string{QueryKeep, QueryRedact, QueryDrop} {
			got := decodeOne(t, Append(nil, &proxy.Record{
				Method: method, URL: url, Err: cause, Status: line, RequestBytes: n, Duration: time.Duration(n),
				Decision: policy.Decision{Rule: rule, Line: line},
				Access:   policy.Access{URL: url, Stale: yes},
				Enforced: yes,
			}, query))
			checkText(t, "method", got.Method, method)
			checkText(t, "url", got.URL, cleanURL(url, query))
			checkText(t, "robots.url", got.Robots.URL, cleanURL(url, query))
			checkText(t, "rule", got.Rule, rule)
			checkText(t, "error", got.Error, cleanText(cause, url, query))
			if got.Line != line || got.Status != line || got.RequestBytes != n || got.Enforced != yes {
				t.Errorf("numbers of %+v: want line and status %d, request_bytes %d, enforced %t", got, line, n, yes)
			}
		}
	})
}

type decoded struct {
	Method, URL, Rule, Error string
	Robots                   struct{ URL string }
	Line, Status             int
	RequestBytes             int64 `json:"request_bytes"`
	Enforced                 bool
}

func decodeOne(t *testing.T, line []byte) (d decoded) {
	t.Helper()
	if bytes.ContainsAny(line, "\r\n") {
		t.Fatalf("%q is more than one line", line)
	}
	if err := json.Unmarshal(line, &d); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return d
}

func checkText(t *testing.T, field, got, in string) {
	t.Helper()
	if want := asEncodingJSON(t, in); got != want {
		t.Errorf("%s of %q: got %q, want %q", field, in, got, want)
	}
}
