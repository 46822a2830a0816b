package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"heed/policy"
	"heed/proxy"
)

// The proxy port answers those who ask it directly, and heed.invalid through the
// proxy is the same page; no origin is asked, and nothing is recorded.
func TestDirectRequests(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "page %s", r.URL.Path)
	})
	h := start(t, sourceFunc(func(_ ctx, o policy.Origin) (policy.Access, error) {
		t.Errorf("robots.txt of %s was asked for", o)
		return policy.Access{}, nil
	}), nil, func(o *proxy.Options) { o.Direct = page })
	for _, tc := range []struct{ name, request string }{
		{"origin form", "GET /ca.pem HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"},
		{"through the proxy", "GET http://heed.invalid/ca.pem HTTP/1.1\r\nHost: heed.invalid\r\n\r\n"},
		{"through the proxy, another spelling", "GET http://HEED.Invalid.:80/ca.pem HTTP/1.1\r\nHost: x\r\n\r\n"},
	} {
		res := h.raw("GET", tc.request)
		if body, _ := io.ReadAll(res.Body); res.StatusCode != 200 || string(body) != "page /ca.pem" || res.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("%s: %d %q %v", tc.name, res.StatusCode, body, res.Header)
		}
	}
	for _, http2 := range []bool{false, true} {
		if res, body := get(t, h.client(http2), "https://heed.invalid/ca.pem"); res.StatusCode != 200 || body != "page /ca.pem" {
			t.Errorf("https: %d %q", res.StatusCode, body)
		}
	}
	h.wait(0)
}

func TestDirectRequestsWithoutAPage(t *testing.T) {
	h := start(t, robots{}, nil)
	res := h.raw("GET", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	body, _ := io.ReadAll(res.Body)
	if r := h.wait(1)[0]; res.StatusCode != 400 || !strings.Contains(string(body), "forward proxy") || r.Decision.Reason != policy.ReasonBadRequest {
		t.Errorf("%d %s, record %+v", res.StatusCode, body, r)
	}
}
