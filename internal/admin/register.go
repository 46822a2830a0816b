package admin

import "github.com/prometheus/client_golang/prometheus"

func counterVec(reg prometheus.Registerer, name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	reg.MustRegister(v)
	return v
}

func gaugeVec(reg prometheus.Registerer, name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	reg.MustRegister(v)
	return v
}

func histogram(reg prometheus.Registerer, name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	reg.MustRegister(h)
	return h
}

func registerSources(reg prometheus.Registerer, s Sources) {
	gaugeFunc(reg, "heed_robots_cached_origins", "Origins whose robots.txt is remembered.", s.CachedOrigins)
	gaugeFunc(reg, "heed_tunnels_open", "Tunnels that are open.", s.TunnelsOpen)
	gaugeFunc(reg, "heed_connections_open", "Client connections that are open.", s.ConnectionsOpen)
	counterFunc(reg, "heed_connections_refused_total", "Client connections that were one too many.", s.ConnectionsRefused)
	gaugeFunc(reg, "heed_requests_open", "Requests that are under way, tunnels and WebSockets included.", s.RequestsOpen)
	gaugeFunc(reg, "heed_websockets_open", "WebSockets that are open.", s.WebSocketsOpen)
	gaugeFunc(reg, "heed_certificates_cached", "Leaf certificates that are kept.", s.CertificatesCached)
	counterFunc(reg, "heed_config_reload_failures_total", "Configurations that were not taken over because of a fault.", s.ReloadFailures)
	counterFunc(reg, "heed_certificates_issued_total", "Leaf certificates issued for interception.", s.CertificatesIssued)
	counterFunc(reg, "heed_store_errors_total", "Calls of the robots.txt store that failed.", s.StoreErrors)
	counterFunc(reg, "heed_audit_records_total", "Audit records written.", s.AuditRecords)
	counterFunc(reg, "heed_audit_errors_total", "Audit records that could not be written.", s.AuditErrors)
}

func gaugeFunc(reg prometheus.Registerer, name, help string, read func() int) {
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, number(read)))
}

func counterFunc(reg prometheus.Registerer, name, help string, read func() uint64) {
	reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, number(read)))
}

func number[N int | uint64](read func() N) func() float64 {
	if read == nil {
		return func() float64 { return 0 }
	}
	return func() float64 { return float64(read()) }
}
