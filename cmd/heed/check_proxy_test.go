package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"heed/internal/config"
	"heed/proxy"
)

// The choices of the table: who asks, what the operator has excepted, which mode,
// and what becomes of a CONNECT. Each is a piece of the configuration.
var (
	askers = []struct{ name, user, clients string }{
		{"no entries", "alice", "[]"},
		{"an entry for another", "alice", "[{user: bob, mode: monitor}, {networks: [192.0.2.0/24], tokens: [freebot]}]"},
		{"a user", "alice", "[{user: bob, mode: monitor}, {user: alice, tokens: [freebot]}]"},
		{"a network", "bob", "[{user: alice, tokens: [freebot]}, {networks: [127.0.0.0/8], mode: monitor, profile: google}]"},
		{"first match", "alice", "[{user: alice, networks: [192.0.2.0/24]}, {user: alice, networks: [127.0.0.1/32], tokens: [nobot, freebot], mode: monitor}, {user: alice}]"},
	}
	exceptions = []struct{ name, overrides string }{
		{"none", "[]"},
		{"for another host", `[{host: "*.h.example", action: deny, reason: why}]`},
		{"expired", `[{host: "*", action: deny, reason: why, expires: 2020-01-31}]`},
		{"allow, then deny", `[{host: "127.0.0.1", action: allow, reason: why}, {host: "*", action: deny, reason: why}]`},
		{"deny", `[{host: x.example, action: allow, reason: why}, {host: "*", action: deny, reason: why}]`},
		{"a robots.txt that allows", `[{host: "127.0.0.1", action: robots, robots_file: OPEN, reason: why}]`},
		{"a robots.txt that disallows", `[{host: "127.0.0.1", action: robots, robots_file: SHUT, reason: why}]`},
		{"other tokens", `[{host: "127.0.0.1", action: robots, tokens: [freebot], reason: why}]`},
	}
	ways = []string{"intercept", "unrestricted", "allow", "deny"} // the last three are policies of https.mode tunnel
)

const askedRobots = "User-agent: testbot\nDisallow: /private\nAllow: /private/open\n\nUser-agent: freebot\nAllow: /\n"

// heed check --user and --from answer as the proxy does: every combination.
func TestCheckAnswersAsTheProxyWouldForEveryClient(t *testing.T) {
	plain, secure := newSite(t, false, false, askedRobots), newSite(t, true, false, askedRobots)
	dir := t.TempDir()
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"users": fmt.Sprintf("alice:%s\nbob:%s\n", hash, hash), "open": "User-agent: *\nDisallow:\n", "shut": "User-agent: *\nDisallow: /\n",
		"roots.pem": pemOfCertificate(secure),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "config.yaml")
	overrides := strings.NewReplacer("OPEN", filepath.Join(dir, "open"), "SHUT", filepath.Join(dir, "shut"))
	targets := []string{plain.URL + "/private", plain.URL + "/private/open", secure.URL + "/private", secure.URL + "/other"}
	for _, who := range askers {
		for _, exception := range exceptions {
			for _, mode := range []string{"enforce", "monitor"} {
				for _, way := range ways {
					t.Run(strings.Join([]string{who.name, exception.name, mode, way}, "/"), func(t *testing.T) {
						https := "{mode: tunnel, tunnel_policy: " + way + "}"
						if way == "intercept" {
							https = "{mode: intercept, ca_dir: " + filepath.Join(dir, "ca") + "}"
						}
						text := fmt.Sprintf("listen: 127.0.0.1:0\nadmin: {listen: \"\"}\nmode: %s\nagent: {tokens: [testbot]}\nhttps: %s\nauth: {users_file: %s}\n"+
							"egress: {allow: [127.0.0.0/8], ca_file: %s}\naudit: {path: \"\"}\nclients: %s\noverrides: %s\n", mode, https,
							filepath.Join(dir, "users"), filepath.Join(dir, "roots.pem"), who.clients, overrides.Replace(exception.overrides))
						if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
							t.Fatal(err)
						}
						compareCheck(t, file, who.user, targets)
					})
				}
			}
		}
	}
}

// compareCheck asks a running proxy and heed check, both made of a configuration,
// and returns what the proxy recorded. user is "" where there are none.
func compareCheck(t *testing.T, file, user string, targets []string) (all []proxy.Record) {
	t.Helper()
	records := make(chan proxy.Record, 2*len(targets))
	s := serveFile(t, file, func(r *proxy.Record) {
		if r.Event != proxy.EventClose { // of a tunnel, whose opening was decided on
			records <- *r
		}
	})
	defer s.end()
	var out, trouble bytes.Buffer
	args := append([]string{"check", "-c", file, "--json", "--user", user, "--from", "127.0.0.1"}, targets...)
	run(args, env{stdout: &out, stderr: &trouble})
	answers := json.NewDecoder(&out)
	for _, target := range targets {
		askProxy(t, s.addr, user, target)
		var checked result
		if err := answers.Decode(&checked); err != nil {
			t.Fatalf("heed check: %v: %s", err, &trouble)
		}
		var r proxy.Record
		select {
		case r = <-records:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: no record", target)
		}
		d := r.Decision
		want := result{URL: target, Agent: d.Agent, Verdict: d.Verdict, Reason: d.Reason, Group: d.Group, Rule: d.Rule, Line: d.Line,
			Profile: d.Profile, DisallowedBy: d.DisallowedBy, ClientEntry: r.ClientEntry, Override: d.Override}
		checked.Robots = nil
		if checked != want {
			t.Errorf("heed check: %+v\nthe proxy:  %+v", checked, want)
		}
		all = append(all, r)
	}
	return all
}

// running is a heed in this process.
type running struct {
	*server
	addr string
	end  func() // may be called once
}

// serveFile runs the proxy of a configuration file. tap hears of every exchange.
func serveFile(t *testing.T, file string, tap func(*proxy.Record)) running {
	t.Helper()
	loaded, err := config.Load(config.Options{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	s, err := newServer(loaded.Config, env{stdout: io.Discard, stderr: io.Discard}, slog.New(slog.DiscardHandler), new(slog.LevelVar))
	if err != nil {
		t.Fatal(err)
	}
	s.tap = tap
	served := make(chan error, 1)
	go func() { served <- s.proxy.Serve(s.listener) }()
	return running{s, s.listener.Addr().String(), func() {
		if err := s.shutdown(context.Background(), 10*time.Second); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	}}
}

// askProxy asks for a URL on a connection of its own, and through a tunnel when
// that is opened. It returns when the request is settled.
func askProxy(t *testing.T, addr, user, target string) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	field := "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":secret")) + "\r\n"
	ask := func(c net.Conn, method, target, field string) *http.Response {
		fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", method, target, u.Host, field)
		res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%s %s: %v", method, target, err)
		}
		return res
	}
	if u.Scheme == "http" {
		_, _ = io.Copy(io.Discard, ask(c, "GET", target, field+"Connection: close\r\n").Body)
		return
	}
	if res := ask(c, "CONNECT", u.Host, field); res.StatusCode != 200 {
		return
	}
	s := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	_, _ = io.Copy(io.Discard, ask(s, "GET", u.RequestURI(), "Connection: close\r\n").Body)
}

// What an operator denies is denied, /robots.txt included, and the host is asked
// for nothing; another robots.txt leaves /robots.txt itself allowed (RFC 9309
// 2.2.2).
func TestDenyCoversRobotsTXT(t *testing.T) {
	origin := newSite(t, false, false, askedRobots)
	for _, c := range []struct{ name, override, path, want string }{
		{"deny, robots.txt", "action: deny", "/robots.txt", "disallow by override"},
		{"deny, a page", "action: deny", "/page", "disallow by override"},
		{"other tokens, robots.txt", "action: robots, tokens: [freebot]", "/robots.txt", "allow by robots-txt"},
		{"allow, robots.txt", "action: allow", "/robots.txt", "allow by override"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			text := "listen: 127.0.0.1:0\nadmin: {listen: \"\"}\nagent: {tokens: [testbot]}\nhttps: {mode: tunnel}\naudit: {path: \"\"}\n" +
				"egress: {allow: [127.0.0.0/8]}\noverrides: [{host: \"127.0.0.1\", " + c.override + ", reason: why}]\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			before := origin.count(c.path)
			r := compareCheck(t, file, "", []string{origin.URL + c.path})[0]
			if got := fmt.Sprintf("%s by %s", r.Decision.Verdict, r.Decision.Reason); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if asked, want := origin.count(c.path)-before, map[bool]int{true: 1}[r.Decision.Allowed()]; asked != want {
				t.Errorf("the origin was asked %d times, want %d", asked, want)
			}
		})
	}
}

// pemOfCertificate is what clients of a secure site have to trust.
func pemOfCertificate(s *site) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}
