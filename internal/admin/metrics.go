package admin

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"heed/policy"
	"heed/proxy"
)

// Sources are what metrics read when they are asked for. Each function is
// called from any goroutine and must not wait; nil reads as 0.
type Sources struct {
	CachedOrigins      func() int // origins whose robots.txt is remembered
	StoreErrors        func() uint64
	TunnelsOpen        func() int
	ConnectionsOpen    func() int // client connections
	ConnectionsRefused func() uint64
	RequestsOpen       func() int
	WebSocketsOpen     func() int
	CertificatesIssued func() uint64
	CertificatesCached func() int
	ReloadFailures     func() uint64
	AuditRecords       func() uint64
	AuditErrors        func() uint64
}

// Metrics count what heed does. They live in a registry of their own, beside
// those of the Go runtime and the process. Label values come from fixed sets, so
// that nobody outside can make series. Use NewMetrics; all methods may be called
// from many goroutines.
type Metrics struct {
	registry *prometheus.Registry
	requests map[outcome]prometheus.Counter
	failures map[string]prometheus.Counter // by Proxy-Status error type
	fetches  map[policy.Result]prometheus.Counter
	lookups  map[string]prometheus.Counter
	duration prometheus.Histogram
	decision prometheus.Histogram
}

// Buckets in seconds. A request may last as long as a download does; a decision
// takes microseconds when robots.txt is known and a fetch when it is not.
var (
	durationBuckets = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	decisionBuckets = []float64{.00001, .00005, .0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 10, 30}
)

// NewMetrics returns metrics that all start at 0. version and goversion are
// the labels of heed_build_info.
func NewMetrics(version, goversion string, s Sources) *Metrics {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m := &Metrics{
		registry: reg,
		duration: histogram(reg, "heed_request_duration_seconds",
			"Time from the first octet of a request to the end of the exchange, or to the opening of the tunnel.", durationBuckets),
		decision: histogram(reg, "heed_decision_duration_seconds",
			"Time spent on reaching a verdict, fetching robots.txt included.", decisionBuckets),
	}
	m.requests = requestCounters(counterVec(reg, "heed_requests_total",
		"Requests by verdict and reason.", "verdict", "reason"))
	m.failures = failureCounters(counterVec(reg, "heed_upstream_errors_total",
		"Failures on the way to an origin, by RFC 9209 error type.", "kind"))
	m.fetches = fetchCounters(counterVec(reg, "heed_robots_fetches_total",
		"Retrievals of robots.txt by access result (RFC 9309 2.3.1).", "result"))
	m.lookups = lookupCounters(counterVec(reg, "heed_robots_cache_total",
		"Where requests found the robots.txt of their origin: in memory fresh (hit) or stale, in the store, or nowhere (miss).", "result"))
	registerSources(reg, s)
	build := gaugeVec(reg, "heed_build_info", "Always 1; the labels say what is running.", "version", "goversion")
	build.WithLabelValues(version, goversion).Set(1)
	return m
}

// Observe counts the exchange that r, which must not be nil, tells of. A tunnel
// counts when it opens; its close is only looked at for what went wrong.
func (m *Metrics) Observe(r *proxy.Record) {
	if c := m.failures[failureLabel(r.ErrKind)]; c != nil {
		c.Inc()
	}
	if r.Event == proxy.EventClose {
		return
	}
	m.requests[outcomeOf(r.Decision)].Inc()
	m.duration.Observe(r.Duration.Seconds())
	if r.Decided > 0 { // else no verdict on robots.txt was sought
		m.decision.Observe(r.Decided.Seconds())
	}
}

// ObserveFetch counts one retrieval of a robots.txt, redirects included.
func (m *Metrics) ObserveFetch(r policy.Result) {
	c, ok := m.fetches[r]
	if !ok { // as policy treats it
		c = m.fetches[policy.Unreachable]
	}
	c.Inc()
}

// ObserveLookup counts one look into the robots.txt cache: hit, stale, store or
// miss, which any other result counts as.
func (m *Metrics) ObserveLookup(result string) {
	c, ok := m.lookups[result]
	if !ok {
		c = m.lookups["miss"]
	}
	c.Inc()
}

func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
