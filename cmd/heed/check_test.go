package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"heed/policy"
)

const checkRobots = "User-agent: bot\nUser-agent: *\nDisallow: /private/\nAllow: /private/open\nDisallow: /Secret\n"

// runHeed runs a command without the network and without settings.
func runHeed(t *testing.T, stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, trouble bytes.Buffer
	code = run(args, env{stdin: stdin, stdout: &out, stderr: &trouble})
	return code, out.String(), trouble.String()
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "robots.txt")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestCheckManyURLs(t *testing.T) {
	file := writeFile(t, checkRobots)
	var urls strings.Builder
	const n = 5000
	for i := range n {
		fmt.Fprintf(&urls, "http://h%d.example/%s/%d\r\n\n", i%7, []string{"public", "private"}[i%2], i)
	}
	code, stdout, stderr := runHeed(t, strings.NewReader(urls.String()), "check", "-a", "bot", "--robots", file, "http://first.example/", "-", "http://last.example/private/")
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if code != exitDisallow || len(lines) != n+2 || stderr != "5002 URLs: 2501 allowed, 2501 disallowed\n" {
		t.Fatalf("exit %d, %d lines, stderr %q", code, len(lines), stderr)
	}
	for i, line := range lines[1 : n+1] {
		verdict, rest, _ := strings.Cut(line, " ")
		if want := []string{"allow", "disallow"}[i%2]; verdict != want || !strings.Contains(rest, fmt.Sprintf("/%d ", i)) {
			t.Fatalf("line %d: %q, want %s", i, line, want)
		}
	}
	if lines[n+1] != "disallow  http://last.example/private/  line 3: Disallow: /private/ (group bot)" {
		t.Errorf("last line %q", lines[n+1])
	}
}

// What is known is printed before the next URL is there.
func TestCheckStreams(t *testing.T) {
	file := writeFile(t, checkRobots)
	in, urls := io.Pipe()
	results, out := io.Pipe()
	done := make(chan int)
	go func() {
		done <- run([]string{"check", "--robots", file, "-"}, env{stdin: in, stdout: out, stderr: io.Discard})
		out.Close()
	}()
	buffer := make([]byte, 1000)
	for i := range 3 {
		fmt.Fprintf(urls, "http://h.example/%d\n", i)
		got := make(chan string, 1)
		go func() {
			n, _ := results.Read(buffer)
			got <- string(buffer[:n])
		}()
		select {
		case line := <-got:
			if !strings.HasPrefix(line, fmt.Sprintf("allow     http://h.example/%d ", i)) {
				t.Fatalf("got %q", line)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("no result for a URL that was sent")
		}
	}
	urls.Close()
	if code := <-done; code != exitOK {
		t.Errorf("exit %d", code)
	}
}

func TestCheckExplain(t *testing.T) {
	file := writeFile(t, checkRobots)
	_, stdout, stderr := runHeed(t, nil, "check", "-a", "bot", "--explain", "--robots", file, "http://h.example/private/open/x")
	for _, want := range []string{
		"allow     http://h.example/private/open/x  line 4: Allow: /private/open (group bot)\n",
		"  agent      bot\n", "  group      line 1: User-agent: bot\n             line 2: User-agent: *\n", "  profile    rfc9309\n",
		"  target     /private/open/x\n", "  rule       line 4: Allow: /private/open  (compared as /private/open, 13 octets)\n",
		"  runner-up  line 3: Disallow: /private/  (compared as /private/, 9 octets)\n             lost: fewer octets: 9 against 13\n",
		"  robots     http://h.example/robots.txt\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
	_, stdout, _ = runHeed(t, nil, "check", "-a", "bot", "--explain", "--json", "-p", "strictest", "--robots", file, "http://h.example/secret")
	var r result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	if r.Profile != policy.Strictest || r.DisallowedBy != policy.Folded || r.Explain == nil || len(r.Explain.Agents) != 2 || r.Explain.Pattern != "/secret" || r.Explain.Octets != 7 || len(r.Explain.Profiles) != 4 {
		t.Errorf("got %s", stdout)
	}
	code, stdout, _ := runHeed(t, nil, "check", "--explain", "--robots", file, "http://h.example/robots.txt")
	if code != exitOK || !strings.Contains(stdout, "always allowed") {
		t.Errorf("robots.txt itself: exit %d, %s", code, stdout)
	}
}

func TestLintCommand(t *testing.T) {
	bad := writeFile(t, "Disallow: /x\nUser-agent: *\nDisallow: private\tthings\nCrawl-delay: 1\n")
	good := writeFile(t, "User-agent: *\nDisallow: /x\nCrawl-delay: 1\n")
	code, stdout, stderr := runHeed(t, nil, "lint", bad)
	if code != exitDisallow || stderr != "" || !strings.Contains(stdout, bad+":3:11: error: path-without-slash\n") ||
		!strings.Contains(stdout, "    | Disallow: private things\n    |           ^\n") || !strings.HasSuffix(stdout, ": 2 errors, 0 warnings, 1 note\n") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	if code, stdout, _ = runHeed(t, nil, "lint", good); code != exitOK || !strings.Contains(stdout, "note: extension") {
		t.Errorf("notes alone: exit %d, %s", code, stdout)
	}
	if code, stdout, _ = runHeed(t, nil, "lint", "-q", bad, good); code != exitDisallow || stdout != "" {
		t.Errorf("quiet: exit %d, %s", code, stdout)
	}
	code, stdout, _ = runHeed(t, strings.NewReader("Disallow /x\n"), "lint", "--json", "-")
	var f finding
	if err := json.NewDecoder(strings.NewReader(stdout)).Decode(&f); err != nil || code != exitDisallow || f.File != "-" || f.Line != 1 || f.Code == "" || f.Remedy == "" {
		t.Errorf("json: exit %d, %v, %s", code, err, stdout)
	}
	for _, args := range [][]string{{"lint"}, {"lint", "-", "-"}, {"lint", "/no/such/file"}, {"lint", "http://h .example/"}} {
		if code, _, stderr := runHeed(t, strings.NewReader(""), args...); code != exitUsage || !strings.HasPrefix(stderr, "error: ") {
			t.Errorf("%q: exit %d, %s", args, code, stderr)
		}
	}
	// A loopback address is not dialled unless that is allowed.
	if code, _, stderr := runHeed(t, nil, "lint", "http://127.0.0.1:1/"); code != exitUnknown || stderr == "" {
		t.Errorf("unreachable: exit %d, %s", code, stderr)
	}
}

func TestLintFetches(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			http.Redirect(w, r, "/real", http.StatusFound)
		case "/real":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: private\n")
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	for path, want := range map[string]int{"": exitDisallow, "/": exitDisallow, "/real": exitDisallow, "/none": exitUnknown, "/loop": exitUnknown} {
		var out, trouble bytes.Buffer
		code := run([]string{"lint", site.URL + path}, env{stdout: &out, stderr: &trouble, environ: []string{"HEED_EGRESS_ALLOW=127.0.0.0/8"}})
		if code != want || (code == exitDisallow) != strings.Contains(out.String(), ":2:11: error: path-without-slash") {
			t.Errorf("%s: exit %d, %s%s", path, code, out.String(), trouble.String())
		}
	}
}

// The text for people stays within eighty columns, whatever the file holds, but
// for a file name that is longer.
func TestLintReadsWell(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "policy", "testdata", "corpus", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("corpus: %v, %d files", err, len(files))
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, stdout, _ := runHeed(t, bytes.NewReader(body), "lint", "--all", "-")
		for line := range strings.Lines(stdout) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > lintWidth && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%s: %d columns: %s", file, n, line)
			}
			if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }) {
				t.Errorf("%s: control characters in %q", file, line)
			}
		}
	}
}
