package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"heed/internal/testtool"
)

const testRobots = `User-agent: *
Disallow: /

User-agent: testbot
Allow: /
Disallow: /private/
`

// Real clients see 200 for what is allowed and 403, with rule and line, for
// what is not; and the audit log has one record for each exchange.
func TestClientsOverBothProtocolsOnBothLegs(t *testing.T) {
	plain := newSite(t, false, false, testRobots)
	secure1 := newSite(t, true, false, testRobots)
	secure2 := newSite(t, true, true, testRobots)
	for _, origin := range []struct {
		name, protocol string
		site           *site
	}{
		{"http origin", "HTTP/1.1", plain}, {"https origin with HTTP/1.1", "HTTP/1.1", secure1}, {"https origin with HTTP/2", "HTTP/2.0", secure2},
	} {
		for _, c := range clients {
			t.Run(c.name+", "+origin.name, func(t *testing.T) {
				p := startProcess(t, []*site{plain, secure1, secure2})
				ask := c.make(t, p)
				allowed, disallowed := origin.site.URL+"/public?x=1", origin.site.URL+"/private/x"
				if a := ask(allowed); a.status != 200 || a.body != "hello from /public" || !strings.Contains(a.header, origin.protocol) {
					t.Errorf("allowed: %+v; want 200 over %s", a, origin.protocol)
				}
				a := ask(disallowed)
				if http2 := strings.HasPrefix(a.header, "HTTP/2"); http2 != (strings.HasSuffix(c.name, "HTTP/2") && origin.site.Certificate() != nil) {
					t.Errorf("the client's leg: %s", a.header)
				}
				if a.status != 403 || !strings.Contains(a.body, "Disallow: /private/") || !strings.Contains(a.body, `"line":6`) ||
					!strings.Contains(strings.ToLower(a.header), `proxy-status: heed; error=http_request_denied; details="robots.txt line 6: disallow: /private/"`) {
					t.Errorf("disallowed: %+v", a)
				}
				if n := origin.site.count("/private/x"); n != 0 {
					t.Errorf("the origin was asked %d times for what is disallowed", n)
				}
				records := p.records()
				if len(records) != 2 {
					t.Fatalf("%d records: %v", len(records), records)
				}
				secure := strings.HasPrefix(origin.site.URL, "https")
				checkRecord(t, records[0], record{"url": allowed, "verdict": "allow", "reason": "rule", "rule": "Allow: /", "line": 5.0,
					"status": 200.0, "response_bytes": 18.0, "intercepted": secure})
				checkRecord(t, records[1], record{"url": disallowed, "verdict": "disallow", "reason": "rule", "rule": "Disallow: /private/", "line": 6.0,
					"status": 403.0, "response_bytes": float64(len(a.body)), "intercepted": secure})
			})
		}
	}
}

// checkRecord compares a record with what every one of these must hold and with want.
func checkRecord(t *testing.T, got, want record) {
	t.Helper()
	for key, value := range map[string]any{"event": "exchange", "agent": "testbot", "method": "GET", "group": "testbot", "profile": "rfc9309",
		"enforced": true, "request_bytes": 0.0} {
		want[key] = value
	}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("record: %s = %v, want %v", key, got[key], value)
		}
	}
	if _, err := time.Parse(time.RFC3339Nano, fmt.Sprint(got["time"])); err != nil {
		t.Errorf("record: time: %v", err)
	}
	for _, key := range []string{"id", "client"} {
		if s, ok := got[key].(string); !ok || s == "" {
			t.Errorf("record: %s = %v", key, got[key])
		}
	}
	if ms, ok := got["duration_ms"].(float64); !ok || ms <= 0 {
		t.Errorf("record: duration_ms = %v", got["duration_ms"])
	}
	if seq, ok := got["seq"].(float64); !ok || seq < 1 || len(fmt.Sprint(got["prev"])) != 64 || len(fmt.Sprint(got["hash"])) != 64 {
		t.Errorf("record: seq = %v, prev = %v, hash = %v", got["seq"], got["prev"], got["hash"])
	}
	robots, _ := got["robots"].(map[string]any)
	origin := strings.Join(strings.SplitN(fmt.Sprint(got["url"]), "/", 4)[:3], "/")
	if robots["url"] != origin+"/robots.txt" || robots["status"] != 200.0 || len(fmt.Sprint(robots["sha256"])) != 64 || robots["retrieved"] == nil {
		t.Errorf("record: robots = %v", robots)
	}
	known := []string{"time", "id", "event", "client", "agent", "method", "url", "verdict", "reason", "group", "rule", "line", "profile",
		"robots", "enforced", "intercepted", "status", "request_bytes", "response_bytes", "duration_ms",
		"chain", "seq", "prev", "hash"}
	for key := range got {
		if !slices.Contains(known, key) {
			t.Errorf("record: unknown field %s = %v", key, got[key])
		}
	}
}

// clients make a function that asks for a URL through the process.
var clients = []struct {
	name string
	make func(*testing.T, *process) func(url string) answer
}{
	{"Go with HTTP/1.1", func(t *testing.T, p *process) func(string) answer { return goClient(t, p, false) }},
	{"Go with HTTP/2", func(t *testing.T, p *process) func(string) answer { return goClient(t, p, true) }},
	{"curl with HTTP/1.1", func(t *testing.T, p *process) func(string) answer { return curlClient(t, p, "--http1.1") }},
	{"curl with HTTP/2", func(t *testing.T, p *process) func(string) answer { return curlClient(t, p, "--http2") }},
	{"Python requests", requestsClient},
}

func goClient(t *testing.T, p *process, http2 bool) func(string) answer {
	c := p.client(http2)
	return func(url string) answer {
		a, err := fetchURL(c, url)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
}

func curlClient(t *testing.T, p *process, protocol string) func(string) answer {
	curl := testtool.Path(t, "curl")
	return func(url string) answer {
		return clientOutput(t, p, exec.Command(curl, "-sS", "-i", "--suppress-connect-headers", "--max-time", "20", protocol, "--cacert", p.ca, url))
	}
}

const requestsScript = `
import requests, sys
r = requests.get(sys.argv[1], timeout=20)
print("HTTP/1.1", r.status_code)
for k, v in r.headers.items(): print(k + ": " + v)
print()
sys.stdout.write(r.text)
`

func requestsClient(t *testing.T, p *process) func(string) answer {
	python := testtool.Python(t, "requests")
	return func(url string) answer {
		return clientOutput(t, p, exec.Command(python, "-c", requestsScript, url))
	}
}

// clientOutput runs a client behind the process and reads status line, fields and body.
func clientOutput(t *testing.T, p *process, cmd *exec.Cmd) answer {
	t.Helper()
	proxy := "http://" + p.addr
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + p.dir, "http_proxy=" + proxy, "https_proxy=" + proxy, "REQUESTS_CA_BUNDLE=" + p.ca}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s\n%s", cmd, err, out, p.log())
	}
	text := strings.ReplaceAll(string(out), "\r\n", "\n")
	header, body, _ := strings.Cut(text, "\n\n")
	status, err := strconv.Atoi(strings.Fields(header)[1])
	if err != nil {
		t.Fatalf("answer %q: %v", out, err)
	}
	return answer{status, header, body}
}
