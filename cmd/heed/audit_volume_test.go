package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"heed/internal/audit"
	"heed/internal/testtool"
	"heed/policy"
	"heed/proxy"
)

// logged is a record of a busy crawl.
func logged(i int) *proxy.Record {
	r := &proxy.Record{
		Time: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 130 * time.Millisecond), ID: fmt.Sprintf("3f2a91c4-%x", i),
		Event: proxy.EventExchange, Client: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), uint16(i)), User: []string{"alice", "bob"}[i%2],
		Method: "GET", URL: fmt.Sprintf("https://h%d.example/private/page-%d?q=%d", i*i%97, i, i), Enforced: true, Intercepted: true, Status: 200, ResponseBytes: int64(i),
		Decision: policy.Decision{Verdict: policy.Allow, Reason: policy.ReasonNoRule, Agent: "mybot", Group: "*", Profile: policy.RFC9309},
		Access: policy.Access{Result: policy.Successful, URL: fmt.Sprintf("https://h%d.example/robots.txt", i*i%97), Status: 200,
			SHA256: strings.Repeat("0a", 32), Retrieved: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)},
	}
	if i%5 == 0 {
		r.Decision.Verdict, r.Decision.Reason, r.Decision.Rule, r.Decision.Line = policy.Disallow, policy.ReasonRule, "Disallow: /private/", 2
		r.Status = 403
	}
	if i%50 == 0 {
		r.Event = proxy.EventClose
	}
	return r
}

func writeAudit(t *testing.T, path string, n int) {
	t.Helper()
	w, err := audit.Open(audit.Options{Path: path, Chain: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		w.Record(logged(i))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// jqCounts is what heed audit summary counts, for jq.
const jqCounts = `reduce inputs as $r ({}; if $r.event == "close" then . else
	.verdict[$r.verdict] += 1 | .reason[$r.reason] += 1 | .agent[$r.agent] += 1 | .user[$r.user] += 1 |
	.host[$r.url | split("/")[2]] += 1 end)`

func TestSummaryIsFasterThanJQ(t *testing.T) {
	jq := testtool.Path(t, "jq")
	if raceEnabled {
		t.Skip("SKIPPED: the race detector makes heed slow, and jq not")
	}
	n := 40_000
	if full() {
		n = 1_300_000 // 1 GB
	}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	writeAudit(t, path, n)
	// The best of some runs each: others may be busy on this machine.
	var ours, theirs time.Duration
	var out, want []byte
	for range 3 {
		cmd := exec.Command(os.Args[0], "audit", "summary", "--json", "--top", "0", "--by", "verdict,reason,agent,user,host", path)
		cmd.Env = []string{mainEnv + "=1"}
		out = timed(t, cmd, &ours)
		if !full() || want == nil {
			want = timed(t, exec.Command(jq, "-n", jqCounts, path), &theirs)
		}
	}
	t.Logf("%d records: heed %v, jq %v, %.1f times as fast", n, ours, theirs, float64(theirs)/float64(ours))
	if theirs < 5*ours {
		t.Errorf("heed takes %v, jq %v: less than 5 times as fast", ours, theirs)
	}
	counts := map[string]map[string]uint64{}
	for line := range bytes.Lines(out) {
		var row struct {
			By, Key   string
			Decisions uint64
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		if row.By == "total" {
			continue
		}
		if counts[row.By] == nil {
			counts[row.By] = map[string]uint64{}
		}
		counts[row.By][row.Key] = row.Decisions
	}
	var jqs map[string]map[string]uint64
	if err := json.Unmarshal(want, &jqs); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(counts) != fmt.Sprint(jqs) {
		t.Errorf("heed counts %v\njq %v", counts, jqs)
	}
}

// timed returns what cmd prints. best is the shortest time so far.
func timed(t *testing.T, cmd *exec.Cmd, best *time.Duration) []byte {
	t.Helper()
	start := time.Now()
	out, err := cmd.Output()
	if took := time.Since(start); *best == 0 || took < *best {
		*best = took
	}
	if err != nil {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	return out
}

// What is allocated does not depend on how long the log is, and so neither does
// the memory.
func TestReadingTakesConstantMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	writeAudit(t, path, 20_000)
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	short := log[:bytes.IndexByte(log[len(log)/20:], '\n')+len(log)/20+1]
	for _, args := range [][]string{
		{"audit", "verify", "-"}, {"audit", "summary", "--by", "verdict,reason,host,rule,agent,user", "-"},
		{"audit", "tail", "--verdict", "error", "-"},
	} {
		octets := func(log []byte) uint64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			e := env{stdin: bytes.NewReader(log), stdout: io.Discard, stderr: io.Discard}
			if code := run(args, e); code != 0 {
				t.Fatalf("%v: exit %d", args, code)
			}
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		octets(short) // what is made once
		few, many := octets(short), octets(log)
		t.Logf("%v: %d octets allocated for %d MB, %d for %d MB", args, few, len(short)>>20, many, len(log)>>20)
		if many > few+few/4+256<<10 {
			t.Errorf("%v allocates %d octets for a short log and %d for one 20 times as long", args, few, many)
		}
	}
}
