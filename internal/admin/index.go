package admin

import (
	"net/http"
	"strings"
)

const (
	indexHead = `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>heed</title></head>
<body>
<h1>heed</h1>
<p>A forward proxy that makes crawlers obey robots.txt. This is its admin listener.</p>
<ul>
<li><a href="/healthz">/healthz</a>: the process is up</li>
<li><a href="/readyz">/readyz</a>: requests can be served</li>
`
	indexMetrics = `<li><a href="/metrics">/metrics</a>: Prometheus metrics</li>
`
	indexCA = `<li><a href="/ca.pem">/ca.pem</a>: certificate of the interception CA</li>
`
	indexPAC = `<li><a href="/proxy.pac">/proxy.pac</a>: proxy auto-configuration</li>
`
	indexFoot = `</ul>
</body>
</html>
`
)

// index links to what this listener has.
func index(o Options) http.HandlerFunc {
	var page strings.Builder
	page.WriteString(indexHead)
	if o.Metrics != nil {
		page.WriteString(indexMetrics)
	}
	if len(o.CA) > 0 {
		page.WriteString(indexCA)
	}
	if o.Proxy != "" {
		page.WriteString(indexPAC)
	}
	page.WriteString(indexFoot)
	body := []byte(page.String())
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(body) // as in caPEM
	}
}
