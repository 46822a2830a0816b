package admin

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"heed/internal/testtool"
	"heed/policy"
	"heed/proxy"
)

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	got := ask(t, Options{Listen: loopbackAddr, Metrics: m}, "GET", "/metrics", nil)
	if got.status != 200 {
		t.Fatalf("GET /metrics: %d %s", got.status, got.body)
	}
	return got.body
}

// checkSamples looks for whole lines of the text format.
func checkSamples(t *testing.T, page string, want ...string) {
	t.Helper()
	for _, sample := range want {
		if !strings.Contains(page, "\n"+sample+"\n") {
			name, _, _ := strings.Cut(strings.Fields(sample)[0], "{")
			var got []string
			for line := range strings.Lines(page) {
				if strings.HasPrefix(line, name) {
					got = append(got, line)
				}
			}
			t.Errorf("want %s, got:\n%s", sample, strings.Join(got, ""))
		}
	}
}

func TestObserve(t *testing.T) {
	m := NewMetrics("v1.2.3", "go1.26", Sources{})
	allow := policy.Decision{Verdict: policy.Allow, Reason: policy.ReasonNoRule}
	for _, r := range []proxy.Record{
		{Event: proxy.EventExchange, Decision: allow, Duration: 20 * time.Millisecond, Decided: 70 * time.Microsecond},
		{Event: proxy.EventExchange, Decision: policy.Decision{Reason: policy.ReasonRule}, Decided: 70 * time.Microsecond, ErrKind: "http_request_denied"},
		{Event: proxy.EventExchange, Decision: policy.Decision{Verdict: policy.Error, Reason: policy.ReasonUpstream}, ErrKind: "dns_error"},
		{Event: proxy.EventOpen, Decision: policy.Decision{Verdict: policy.Allow, Reason: policy.ReasonUnchecked}},
		{Event: proxy.EventClose, Decision: policy.Decision{Verdict: policy.Allow, Reason: policy.ReasonUnchecked}, Duration: 20 * time.Hour},
		{Event: proxy.EventClose, Decision: policy.Decision{Verdict: policy.Allow, Reason: policy.ReasonUnchecked}, ErrKind: "connection_terminated"},
		{Event: proxy.EventExchange, Decision: policy.Decision{Verdict: 99, Reason: "h.example"}, ErrKind: "h.example"},
	} {
		m.Observe(&r)
	}
	m.ObserveFetch(policy.Successful)
	m.ObserveFetch(policy.Result(99))
	for _, result := range []string{"hit", "hit", "miss", "stale", "store", "store", "store", "h.example"} {
		m.ObserveLookup(result)
	}
	page := scrape(t, m)
	checkSamples(t, page,
		`heed_requests_total{reason="no-rule",verdict="allow"} 1`,
		`heed_requests_total{reason="rule",verdict="disallow"} 1`,
		`heed_requests_total{reason="upstream",verdict="error"} 1`,
		`heed_requests_total{reason="unchecked",verdict="allow"} 1`,
		`heed_requests_total{reason="other",verdict="disallow"} 1`,
		`heed_requests_total{reason="limit",verdict="error"} 0`,
		`heed_request_duration_seconds_count 5`,
		`heed_request_duration_seconds_sum 0.02`,
		`heed_decision_duration_seconds_count 2`,
		`heed_decision_duration_seconds_bucket{le="0.0001"} 2`,
		`heed_upstream_errors_total{kind="dns_error"} 1`,
		`heed_upstream_errors_total{kind="connection_terminated"} 1`,
		`heed_upstream_errors_total{kind="other"} 1`,
		`heed_robots_fetches_total{result="successful"} 1`,
		`heed_robots_fetches_total{result="unreachable"} 1`,
		`heed_robots_fetches_total{result="unavailable"} 0`,
		`heed_robots_cache_total{result="hit"} 2`,
		`heed_robots_cache_total{result="miss"} 2`,
		`heed_robots_cache_total{result="stale"} 1`,
		`heed_robots_cache_total{result="store"} 3`,
		`heed_build_info{goversion="go1.26",version="v1.2.3"} 1`,
	)
	if strings.Contains(page, "h.example") || strings.Contains(page, "http_request_denied") {
		t.Error("a label took a value from outside its set")
	}
}

func TestSourcesAreReadWhenAsked(t *testing.T) {
	n := 0
	gauge := func(add int) func() int { return func() int { return n + add } }
	count := func(add int) func() uint64 { return func() uint64 { return uint64(n + add) } }
	m := NewMetrics("", "", Sources{
		CachedOrigins: gauge(1), TunnelsOpen: gauge(2), ConnectionsOpen: gauge(3),
		CertificatesIssued: count(4), AuditRecords: count(5), AuditErrors: count(6), StoreErrors: count(7),
	})
	n = 10
	checkSamples(t, scrape(t, m),
		"heed_robots_cached_origins 11", "heed_tunnels_open 12", "heed_connections_open 13",
		"heed_certificates_issued_total 14", "heed_audit_records_total 15", "heed_audit_errors_total 16", "heed_store_errors_total 17")
	checkSamples(t, scrape(t, NewMetrics("", "", Sources{})), "heed_tunnels_open 0", "heed_audit_records_total 0")
}

func TestRuntimeMetricsAreThere(t *testing.T) {
	if page := scrape(t, NewMetrics("", "", Sources{})); !strings.Contains(page, "\ngo_goroutines ") {
		t.Errorf("no go_goroutines in:\n%s", page)
	}
}

func TestMetricsFollowTheNamingRules(t *testing.T) {
	problems, err := promlint.New(strings.NewReader(scrape(t, NewMetrics("v1", "go1", Sources{})))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestPromtoolAcceptsTheMetrics(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), testtool.Path(t, "promtool"), "check", "metrics")
	cmd.Stdin = strings.NewReader(scrape(t, NewMetrics("v1", "go1", Sources{})))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

func TestObserveAllocatesNothing(t *testing.T) {
	m := NewMetrics("", "", Sources{})
	r := &proxy.Record{Decision: policy.Decision{Verdict: policy.Allow, Reason: policy.ReasonRule}, Duration: time.Second, Decided: time.Second}
	if n := testing.AllocsPerRun(200, func() { m.Observe(r) }); n > 0 {
		t.Errorf("%v allocations a record", n)
	}
}
