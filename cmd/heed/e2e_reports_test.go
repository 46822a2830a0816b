//go:build unix

package main

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"heed/internal/testtool"
)

// usersFile has one user.
func usersFile(t *testing.T, name, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(file, []byte(name+":"+string(hash)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// What is refused as malformed is counted, and in the log with its reason.
func TestMalformedTargetsAreCounted(t *testing.T) {
	p := startProcess(t, nil)
	requests := []string{"GET http://h.example/a%zz", "GET http://h.example/x%", "GET http://[h.example]/private", "CONNECT [h.example]:443", "GET http://h.example/a#b"}
	for _, r := range requests {
		if got := rawAnswer(t, p.addr, r+" HTTP/1.1\r\nHost: h.example\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400 ") || !strings.Contains(got, "Proxy-Status: heed; error=") {
			t.Errorf("%s: %s", r, got)
		}
	}
	counted := func() float64 { return p.metric(`heed_requests_total{reason="bad-request",verdict="error"}`) }
	for deadline := time.Now().Add(20 * time.Second); counted() < float64(len(requests)) && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond) // a record comes after its answer
	}
	if n := counted(); n != float64(len(requests)) {
		t.Errorf("%v are counted, want %d", n, len(requests))
	}
	for _, r := range p.records() {
		if r["verdict"] != "error" || r["reason"] != "bad-request" || r["error"] == nil {
			t.Errorf("record %v", r)
		}
	}
}

// A browser shows nothing of an answer to CONNECT but 200. So what is refused for
// policy is refused inside, as a page; what the CONNECT itself has to say says why
// in its header; and each is one line of the log.
func TestRefusedConnectsAreExplained(t *testing.T) {
	p := startProcess(t, nil, "HEED_AUTH_USERS_FILE="+usersFile(t, "alice", "secret"), "HEED_HTTPS_CONNECT_PORTS=443,9")
	field := "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("alice:secret")) + "\r\n"
	connect := func(authority, field string) (*http.Response, *bufio.Reader, func(string) *http.Response) {
		c := dialDeadline(t, p.addr)
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", authority, authority, field)
		r := bufio.NewReader(c)
		res, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
		if err != nil {
			t.Fatal(err)
		}
		return res, r, func(request string) *http.Response {
			s := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
			_, _ = io.WriteString(s, request)
			res, err := http.ReadResponse(bufio.NewReader(s), nil)
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
	}
	for _, c := range []struct {
		name, authority, field string
		status                 int
		says                   string
	}{
		{"no password", "h.example:443", "", 407, "http_request_denied"},
		{"a port that is not named", "h.example:25", field, 403, "https.connect_ports"},
	} {
		if res, _, _ := connect(c.authority, c.field); res.StatusCode != c.status || !strings.Contains(res.Header.Get("Proxy-Status"), c.says) {
			t.Errorf("%s: %d %v", c.name, res.StatusCode, res.Header)
		}
	}
	res, _, inside := connect("10.0.0.1:9", field)
	if res.StatusCode != 200 {
		t.Fatalf("CONNECT to a private address: %d, want the refusal inside", res.StatusCode)
	}
	res = inside("GET /page HTTP/1.1\r\nHost: 10.0.0.1:9\r\nAccept: text/html,*/*;q=0.8\r\nConnection: close\r\n\r\n")
	page, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 403 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") || !strings.Contains(string(page), "egress.allow") ||
		!strings.Contains(res.Header.Get("Proxy-Status"), "destination_ip_prohibited") {
		t.Errorf("inside: %d %v %s %v", res.StatusCode, res.Header, page, err)
	}
	var got []string
	for _, r := range p.records() {
		got = append(got, fmt.Sprintf("%v %v %v", r["url"], r["reason"], r["status"]))
	}
	want := "[h.example:443 auth 407 h.example:25 restricted-tunnel 403 https://10.0.0.1:9/page egress-denied 403]"
	if fmt.Sprint(got) != want {
		t.Errorf("records %v, want %s", got, want)
	}
}

// A password may hold what a URL may not, once it is percent-encoded there.
func TestPasswordWithSpecialCharactersInTheProxyURL(t *testing.T) {
	curl := testtool.Path(t, "curl")
	plain, secure := newSite(t, false, false, testRobots), newSite(t, true, true, testRobots)
	p := startProcess(t, []*site{plain, secure}, "HEED_AUTH_USERS_FILE="+usersFile(t, "al ice", "p%w:d@/é"))
	for _, s := range []*site{plain, secure} {
		for userinfo, want := range map[string]string{"al%20ice:p%25w%3Ad%40%2F%C3%A9@": "200", "al%20ice:p%25w@": "407"} {
			cmd := exec.Command(curl, "-sS", "-o", os.DevNull, "-w", "%{http_code}%{http_connect}", "--max-time", "20", "--cacert", p.ca, s.URL+"/x")
			cmd.Env = []string{"http_proxy=http://" + userinfo + p.addr, "https_proxy=http://" + userinfo + p.addr}
			out, _ := cmd.Output() // a refused CONNECT is an error to curl
			if !strings.Contains(string(out), want) {
				t.Errorf("%s as %s: %s, want %s\n%s", s.URL, userinfo, out, want, p.log())
			}
		}
	}
}

// The environment of a container that points everything at heed points heed at
// itself; it is heeded on request alone.
func TestProxiesOfTheEnvironmentAreIgnored(t *testing.T) {
	upstream := startUpstream(t, "http", nil, false)
	env := []string{"HTTP_PROXY=" + upstream.url(""), "http_proxy=" + upstream.url(""), "HTTPS_PROXY=" + upstream.url(""), "ALL_PROXY=" + upstream.url(""), "NO_PROXY="}
	for setting, want := range map[string]bool{"": false, "env": true} {
		before := upstream.connections()
		p := startProcess(t, nil, append(env, "HEED_EGRESS_PROXY="+setting)...)
		// A name that leads nowhere: of loopback the environment's proxies are not asked.
		if _, err := fetchURL(p.client(false), "http://site.invalid/x"); err != nil {
			t.Errorf("egress.proxy %q: %v", setting, err)
		}
		if asked := upstream.connections() > before; asked != want {
			t.Errorf("egress.proxy %q: the proxy of the environment was asked: %v", setting, asked)
		}
	}
}
