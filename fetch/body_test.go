package fetch_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"heed/fetch"
	"heed/policy"
)

func zipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

// corrupt changes the checksum at the end of a gzip stream.
func corrupt(gz string) string {
	b := []byte(gz)
	b[len(b)-8] ^= 0xff
	return string(b)
}

func TestSizeLimit(t *testing.T) {
	const limit = 20
	cases := []struct{ name, body, want string }{
		{"as long as the limit", "12345678\n1234567890\n", "12345678\n1234567890\n"},
		{"cut after the last full line", "12345678\n12345678\n1234", "12345678\n12345678\n"},
		{"a line that ends at the limit is full", "12345678\n12345678901\nx", "12345678\n12345678901"},
		{"a line that ends at the limit with CRLF", "12345678\n12345678901\r\nx", "12345678\n12345678901"},
		{"CR ends lines too", "12345678\r12345678901234", "12345678\r"},
	}
	for _, c := range cases {
		for _, encoding := range []string{"identity", "gzip", "x-gzip"} {
			t.Run(c.name+"/"+encoding, func(t *testing.T) {
				o := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					body := c.body
					if encoding != "identity" {
						body = zipped(body)
						w.Header().Set("Content-Encoding", encoding)
					}
					io.WriteString(w, body)
				})
				a := access(t, newStore(t, func(f *fetch.Options) { f.MaxSize = limit }), o)
				if a.Result != policy.Successful || a.SHA256 != digest(c.want) {
					t.Errorf("body %q: got %s, sha256 %s, cause %q; want that of %q", c.body, a.Result, a.SHA256, a.Cause, c.want)
				}
			})
		}
	}
}

func TestFileOfWhichNoLineFitsIsUnreachable(t *testing.T) {
	for _, encoding := range []string{"identity", "gzip"} {
		o := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			body := strings.Repeat("x", 100)
			if encoding == "gzip" {
				body = zipped(body)
				w.Header().Set("Content-Encoding", encoding)
			}
			io.WriteString(w, body)
		})
		a := access(t, newStore(t, func(f *fetch.Options) { f.MaxSize = 20 }), o)
		if a.Result != policy.Unreachable || a.Robots != nil || a.Cause == "" {
			t.Errorf("%s: got %+v, want unreachable", encoding, a)
		}
	}
}

func TestFileThatNeverEndsIsCut(t *testing.T) {
	const line = "Disallow: /a/path/of/some/length\n"
	gone := make(chan struct{})
	o := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		defer close(gone)
		for {
			if _, err := io.WriteString(w, line); err != nil {
				return
			}
		}
	})
	a := access(t, newStore(t, nil), o)
	want := digest(strings.Repeat(line, fetch.DefaultMaxSize/len(line)))
	if a.Result != policy.Successful || a.SHA256 != want {
		t.Errorf("got %s, sha256 %s, cause %q; want successful, %s", a.Result, a.SHA256, a.Cause, want)
	}
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("the origin still writes after the file was cut")
	}
}

func TestFileThatTricklesEndsAtTimeout(t *testing.T) {
	for _, status := range []int{200, 302} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			o := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", fmt.Sprintf("/robots.txt?%d", time.Now().UnixNano()))
				w.WriteHeader(status)
				for r.Context().Err() == nil {
					io.WriteString(w, "#\n")
					http.NewResponseController(w).Flush()
					time.Sleep(10 * time.Millisecond)
				}
			})
			s := newStore(t, func(f *fetch.Options) {
				f.Timeout = 300 * time.Millisecond
				f.MaxRedirects = 1000
			})
			start := time.Now()
			a := access(t, s, o)
			if took := time.Since(start); a.Result != policy.Unreachable || took > 5*time.Second {
				t.Errorf("got %+v after %v, want unreachable after 300ms", a, took)
			}
		})
	}
}

func TestSlowBodyOfARedirectIsNotAwaited(t *testing.T) {
	o := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/there" {
			return
		}
		http.Redirect(w, r, "/there", http.StatusFound)
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	if a := access(t, newStore(t, nil), o); a.Result != policy.Successful {
		t.Errorf("got %+v, want successful", a)
	}
}

func TestGzipBombIsBounded(t *testing.T) {
	member := zipped(strings.Repeat("\x00", 1<<20))
	bomb := strings.Repeat(member, 256) // members one after the other are one file (RFC 1952 2.2)
	lines := zipped(strings.Repeat("#\n", 8<<20))
	cases := []struct {
		name  string
		write func(io.Writer)
		want  policy.Result
	}{
		{"much from little", func(w io.Writer) { io.WriteString(w, bomb) }, policy.Unreachable},
		{"lines from little", func(w io.Writer) { io.WriteString(w, lines) }, policy.Unreachable},
		{"nothing from much", func(w io.Writer) {
			for empty := zipped(""); ; {
				if _, err := io.WriteString(w, empty); err != nil {
					return
				}
			}
		}, policy.Unreachable},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				c.write(w)
			})
			s := newStore(t, nil)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			a := access(t, s, o)
			runtime.ReadMemStats(&after)
			if a.Result != c.want {
				t.Errorf("got %+v, want %s", a, c.want)
			}
			if got, most := after.TotalAlloc-before.TotalAlloc, uint64(16<<20); got > most {
				t.Errorf("allocated %d octets, want at most %d", got, most)
			}
		})
	}
}
