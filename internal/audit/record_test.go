package audit

import (
	"encoding/json"
	"net/netip"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heed/policy"
	"heed/proxy"
)

type object = map[string]any

// refusal is a record in which nothing is absent.
func refusal() *proxy.Record {
	zone := time.FixedZone("", 2*60*60)
	return &proxy.Record{
		Time:   time.Date(2026, 3, 1, 14, 0, 0, 120, zone),
		ID:     "01J",
		Event:  proxy.EventExchange,
		Client: netip.MustParseAddrPort("192.0.2.7:40000"),
		Method: "GET",
		URL:    "https://h.example/private/?a=1",
		Decision: policy.Decision{
			Verdict: policy.Disallow, Reason: policy.ReasonRule, Agent: "heed", Group: "*",
			Rule: "Disallow: /private/", Line: 12, Profile: policy.RFC9309,
		},
		Access: policy.Access{
			Result: policy.Successful, URL: "https://h.example/robots.txt", FinalURL: "https://www.h.example/robots.txt",
			Status: 200, SHA256: "e3b0c442", Retrieved: time.Date(2026, 3, 1, 13, 0, 0, 0, zone), Stale: true,
		},
		Enforced: true, Intercepted: true, Status: 403,
		RequestBytes: 5, ResponseBytes: 300, Duration: 1500 * time.Microsecond,
		Err: "client went away",
	}
}

func TestAppend(t *testing.T) {
	tests := []struct {
		name   string
		record *proxy.Record
		want   object
	}{
		{"everything known", refusal(), object{
			"time": "2026-03-01T12:00:00.000000120Z", "id": "01J", "event": "exchange", "client": "192.0.2.7:40000",
			"agent": "heed", "method": "GET", "url": "https://h.example/private/?a=1",
			"verdict": "disallow", "reason": "rule", "group": "*", "rule": "Disallow: /private/", "line": 12.0, "profile": "rfc9309",
			"robots": object{
				"url": "https://h.example/robots.txt", "final_url": "https://www.h.example/robots.txt", "status": 200.0,
				"sha256": "e3b0c442", "retrieved": "2026-03-01T11:00:00.000000000Z", "stale": true,
			},
			"enforced": true, "intercepted": true, "status": 403.0,
			"request_bytes": 5.0, "response_bytes": 300.0, "duration_ms": 1.5, "error": "client went away",
		}},
		{"nothing known", &proxy.Record{}, object{
			"verdict": "disallow", "enforced": false, "intercepted": false,
			"request_bytes": 0.0, "response_bytes": 0.0, "duration_ms": 0.0,
		}},
		{"no rule decided, robots.txt unreachable", &proxy.Record{
			Event:    proxy.EventOpen,
			Client:   netip.MustParseAddrPort("[::ffff:192.0.2.7]:1"),
			URL:      "h.example:443",
			Decision: policy.Decision{Verdict: policy.Error, Reason: policy.ReasonUnreachable, Agent: "heed"},
			Access:   policy.Access{URL: "https://h.example/robots.txt", Cause: "no such host"},
			Duration: time.Hour,
		}, object{
			"event": "open", "client": "192.0.2.7:1", "url": "h.example:443",
			"verdict": "error", "reason": "unreachable", "agent": "heed", "robots": object{"url": "https://h.example/robots.txt"},
			"enforced": false, "intercepted": false,
			"request_bytes": 0.0, "response_bytes": 0.0, "duration_ms": 3600000.0,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			line := Append(nil, tt.record, QueryKeep)
			var got object
			if err := json.Unmarshal(line, &got); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("record %+v (-want +got):\n%s", tt.record, diff)
			}
		})
	}
}

func TestFieldsComeInOrder(t *testing.T) {
	want := []string{
		"time", "id", "event", "client", "agent", "method", "url", "verdict", "reason", "group", "rule", "line", "profile",
		"robots", "url", "final_url", "status", "sha256", "retrieved", "stale",
		"enforced", "intercepted", "status", "request_bytes", "response_bytes", "duration_ms", "error",
	}
	line := Append(nil, refusal(), QueryKeep)
	var got []string
	for _, m := range regexp.MustCompile(`"([a-z0-9_]+)":`).FindAllSubmatch(line, -1) {
		got = append(got, string(m[1]))
	}
	if !slices.Equal(got, want) {
		t.Errorf("fields of %s:\ngot  %v\nwant %v", line, got, want)
	}
}

func TestDurationAlwaysHasADecimalPoint(t *testing.T) {
	line := Append(nil, &proxy.Record{Duration: 2 * time.Second}, QueryKeep)
	if !regexp.MustCompile(`"duration_ms":2000\.0`).Match(line) {
		t.Errorf("got %s, want a duration_ms of 2000.0", line)
	}
}
