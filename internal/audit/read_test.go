package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func TestLinesOfAnyLength(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	for name, text := range map[string]string{
		"nothing": "", "one": "a\n", "empty lines": "\n\na\n\n", "no newline at the end": "a\nb", "long": long + "\n" + long + "\nz",
	} {
		for way, r := range map[string]io.Reader{"at once": strings.NewReader(text), "in halves": iotest.HalfReader(strings.NewReader(text)), "with the end": iotest.DataErrReader(strings.NewReader(text))} {
			l := NewLines(r)
			var got strings.Builder
			for {
				line, ended, err := l.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%s, %s: %v", name, way, err)
				}
				got.Write(line)
				if ended {
					got.WriteByte('\n')
				}
			}
			if got.String() != text {
				t.Errorf("%s, %s: %d octets of %d", name, way, got.Len(), len(text))
			}
		}
	}
	broken := NewLines(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(errors.New("torn"))))
	if line, ended, err := broken.Next(); string(line) != "a" || !ended || err != nil {
		t.Errorf("%q %t %v", line, ended, err)
	}
	if _, _, err := broken.Next(); err == nil || err == io.EOF {
		t.Errorf("an error of reading: %v", err)
	}
}

func TestInputsOfEachForm(t *testing.T) {
	text := strings.Repeat("{\"event\":\"exchange\"}\n", 5000)
	dir := t.TempDir()
	for name, pack := range map[string]func(io.Writer) io.WriteCloser{
		"plain": func(w io.Writer) io.WriteCloser { return nopCloser{w} },
		"gzip":  func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w)
			if err != nil {
				t.Fatal(err)
			}
			return z
		},
	} {
		var packed bytes.Buffer
		w := pack(&packed)
		_, _ = io.WriteString(w, text)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name) // no suffix says what it is
		if err := os.WriteFile(path, packed.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{path, "-"} {
			in, err := OpenInput(from, bytes.NewReader(packed.Bytes()))
			if err != nil {
				t.Fatalf("%s from %s: %v", name, from, err)
			}
			n := 0
			for {
				if _, _, err := in.Next(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatalf("%s from %s: %v", name, from, err)
				}
				n++
			}
			if n != 5000 || in.Done() != int64(packed.Len()) || from == path && in.Size != int64(packed.Len()) {
				t.Errorf("%s from %s: %d lines, %d of %d octets, size %d", name, from, n, in.Done(), packed.Len(), in.Size)
			}
			in.Close()
		}
	}
	if _, err := OpenInput(filepath.Join(dir, "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func TestEntries(t *testing.T) {
	var e Entry
	line := Append(nil, refusal(), QueryKeep)
	if err := e.Parse(line); err != nil {
		t.Fatal(err)
	}
	f := e.File()
	for name, pair := range map[string][2]string{
		"id": {string(e.ID), "01J"}, "client": {string(e.ClientHost()), "192.0.2.7"}, "host": {string(e.Host()), "h.example"},
		"verdict": {string(e.Verdict), "disallow"}, "rule": {string(e.Rule), "Disallow: /private/"}, "line": {fmt.Sprint(e.RuleLine), "12"},
		"sha256": {string(f.SHA256), "e3b0c442"}, "final url": {string(f.FinalURL), "https://www.h.example/robots.txt"},
		"stale": {fmt.Sprint(f.Stale), "true"}, "enforced": {fmt.Sprint(e.Enforced), "true"}, "status": {fmt.Sprint(e.Status), "403"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %q, want %q", name, pair[0], pair[1])
		}
	}
	if at := e.At(); !at.Equal(refusal().Time) {
		t.Errorf("time: got %v", at)
	}
	for in, want := range map[string]string{
		"http://h.example/": "h.example", "http://h.example:80/": "h.example", "https://h.example:443?x": "h.example", "https://h.example:80/": "h.example:80",
		"h.example:443": "h.example", "h.example:22": "h.example:22", "https://[2001:db8::1]:443/": "[2001:db8::1]", "": "",
	} {
		e.URL = []byte(in)
		if got := string(e.Host()); got != want {
			t.Errorf("host of %q: got %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"[2001:db8::1]:99": "2001:db8::1", "2001:db8::": "2001:db8::", "192.0.2.0": "192.0.2.0", "a1b2": "a1b2", "": ""} {
		e.Client = []byte(in)
		if got := string(e.ClientHost()); got != want {
			t.Errorf("client %q: got %q, want %q", in, got, want)
		}
	}
	for _, bad := range []string{"", "x", "{", "{}", `{"event"}`, `{"event":`, `{"event":"exchange"`, `{"event":"exch`, `{"a":[}`, `[1]`, `{"event":"x",}`, `{"event":}`} {
		if err := e.Parse([]byte(bad)); err == nil && !json.Valid([]byte(bad)) && bad != `{"event":"x",}` {
			t.Errorf("%q is taken for a record", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"event":"a\"b\\","url":"\u00e9","robots":{"a":[{"}":"]"}],"sha256":"x"},"line":12 , "enforced" : true}`))
	f.Add(Append(nil, refusal(), QueryKeep))
	f.Add([]byte(`{"event":"`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var e Entry
		err := e.Parse(line)
		e.File()
		e.Host()
		e.ClientHost()
		var want map[string]any
		if json.Unmarshal(line, &want) != nil || bytes.Contains(line, []byte(`\u`)) {
			return // nothing is promised, but that it comes back
		}
		url, isText := want["url"].(string)
		if count := bytes.Count(line, []byte(`"url"`)); err == nil && isText && count == 1 && string(e.URL) != url && strings.ToValidUTF8(string(e.URL), "\ufffd") != url {
			t.Errorf("%s: url %q, want %q", line, e.URL, url)
		}
	})
}
