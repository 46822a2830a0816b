package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"heed/internal/audit"
	"heed/internal/audit/bodies"
	"heed/policy"
	"heed/proxy"
)

// logRobots is the robots.txt of all sites in the logs of scripts.
const logRobots = "# be kind\nUser-agent: *\nDisallow: /private/\nAllow: /private/open\n\nUser-agent: mybot\nDisallow: /Private/\n"

// makeLog DIR [KEYFILE] writes a log of twelve records, put aside after each
// third, and keeps the robots.txt that they were decided on.
func makeLog(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: mklog DIR [KEYFILE]")
	}
	dir := ts.MkAbs(args[0])
	kept, err := bodies.Open(filepath.Join(dir, "bodies"))
	ts.Check(err)
	digest := sha256.Sum256([]byte(logRobots))
	sum := hex.EncodeToString(digest[:])
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ts.Check(kept.Keep(sum, []byte(logRobots), "https://a.example", "https://a.example/robots.txt", start))
	o := audit.Options{Path: filepath.Join(dir, "audit.jsonl"), Chain: true, Rotate: audit.Rotation{Size: 2500, Compress: true}}
	if len(args) == 2 {
		o.Key, err = auditKey(ts.MkAbs(args[1]))
		ts.Check(err)
	}
	w, err := audit.Open(o)
	ts.Check(err)
	robots := policy.Parse([]byte(logRobots))
	for i := range 12 {
		w.Record(scriptRecord(i, start, robots, sum))
	}
	ts.Check(w.Close())
	again, err := audit.Open(o) // compresses what was put aside
	ts.Check(err)
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if plain, err := filepath.Glob(filepath.Join(dir, "audit-*.jsonl")); err != nil || len(plain) == 0 || time.Now().After(end) {
			break
		}
	}
	ts.Check(again.Close())
}

func scriptRecord(i int, start time.Time, robots *policy.Robots, sum string) *proxy.Record {
	host := []string{"a.example", "b.example"}[i%2]
	r := &proxy.Record{
		Time: start.Add(time.Duration(i) * 10 * time.Minute), ID: fmt.Sprintf("t-%d", i), Event: proxy.EventExchange, Method: "GET",
		Client: netip.MustParseAddrPort(fmt.Sprintf("192.0.2.%d:4000", i%3)), User: []string{"", "alice"}[i/6],
		URL:      "https://" + host + []string{"/", "/private/a", "/private/open", "/Private/x"}[i%4],
		Enforced: i != 5, Intercepted: true, Status: 200, Duration: time.Millisecond,
	}
	target, err := policy.ParseTarget(r.URL)
	if err != nil {
		panic(err)
	}
	r.Access = policy.Access{Result: policy.Successful, Robots: robots, URL: target.Origin.RobotsURL(), Status: 200, SHA256: sum, Retrieved: start}
	if i == 8 {
		r.Access = policy.Access{URL: target.Origin.RobotsURL(), Status: 503, Cause: "HTTP status 503"}
	}
	r.Decision = policy.Settings{Tokens: []string{[]string{"mybot", "heed"}[i/4%2]}, Profile: policy.RFC9309}.Decide(&r.Access, target)
	if !r.Decision.Allowed() && r.Enforced {
		r.Status = 403
	}
	if i == 9 {
		r.Decision = policy.Decision{Verdict: policy.Allow, Reason: policy.ReasonOverride, Agent: "heed", Override: "allow b.example: by contract"}
		r.Access = policy.Access{}
	}
	if i == 10 {
		r.Decision.Verdict, r.Decision.Reason, r.Err, r.Status = policy.Error, policy.ReasonUpstream, "connection \x1b[31mrefused", 502
	}
	return r
}

// edit FILE LINE OLD NEW changes a text in one line (from 1) of a file; an OLD of
// - removes the line, and one of + repeats it.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: edit FILE LINE OLD NEW")
	}
	lines := strings.SplitAfter(ts.ReadFile(args[0]), "\n")
	var n int
	if _, err := fmt.Sscan(args[1], &n); err != nil || n < 1 || n > len(lines) {
		ts.Fatalf("line %s of %d", args[1], len(lines))
	}
	switch line := &lines[n-1]; args[2] {
	case "-":
		*line = ""
	case "+":
		*line += *line
	default:
		if !strings.Contains(*line, args[2]) {
			ts.Fatalf("%q is not in %s", args[2], *line)
		}
		*line = strings.Replace(*line, args[2], args[3], 1)
	}
	writeScriptFile(ts, args[0], strings.Join(lines, ""))
}
