package proxy_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"heed/policy"
	"heed/proxy"
)

func TestClientThatLeavesWhileRobotsIsAwaited(t *testing.T) {
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			asked, cancelled := make(chan struct{}), make(chan struct{})
			plain, secure := origins(t, func(http.ResponseWriter, *http.Request) { t.Error("the origin was asked") })
			h := start(t, sourceFunc(func(ctx ctx, _ policy.Origin) (policy.Access, error) {
				close(asked)
				<-ctx.Done()
				close(cancelled)
				return policy.Access{}, ctx.Err()
			}), []*httptest.Server{secure})
			ctx, leave := context.WithCancel(t.Context())
			go func() {
				<-asked
				leave()
			}()
			req, _ := http.NewRequestWithContext(ctx, "GET", p.of(plain, secure).URL+"/x", nil)
			if _, err := h.client(p.http2).Do(req); err == nil {
				t.Error("there was an answer")
			}
			<-cancelled
			r := recorded(h, 1)
			if r.Decision.Verdict == policy.Allow || r.Status != 0 || r.ResponseBytes != 0 || !strings.HasPrefix(r.Err, "the client closed the connection") {
				t.Errorf("record %+v", r)
			}
		})
	}
}

func TestClientThatLeavesWhileATunnelIsJudged(t *testing.T) {
	asked, cancelled := make(chan struct{}), make(chan struct{})
	h := start(t, sourceFunc(func(ctx ctx, _ policy.Origin) (policy.Access, error) {
		close(asked)
		<-ctx.Done()
		close(cancelled)
		return policy.Access{}, ctx.Err()
	}), nil, func(o *proxy.Options) { o.Leaf = nil })
	l := h.leg("http://h.example")
	l.send("CONNECT h.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
	<-asked
	_ = l.Close()
	<-cancelled
	if r := recorded(h, 1); r.Decision.Verdict == policy.Allow || r.Status != 0 || r.Err == "" || r.Event != proxy.EventExchange {
		t.Errorf("record %+v", r)
	}
	h.drained()
}

func TestSlowRobotsDelaysNoOtherOrigin(t *testing.T) {
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			asked, release := make(chan struct{}), make(chan struct{})
			slow, slowSecure := origins(t, func(http.ResponseWriter, *http.Request) {})
			quick, quickSecure := origins(t, func(http.ResponseWriter, *http.Request) {})
			slowURL := p.of(slow, slowSecure).URL
			known := robots{all: disallowPrivate}
			h := start(t, sourceFunc(func(ctx ctx, o policy.Origin) (policy.Access, error) {
				if o.String() == slowURL {
					close(asked)
					<-release
				}
				return known.Access(ctx, o)
			}), []*httptest.Server{slowSecure, quickSecure})
			c, answered := h.client(p.http2), make(chan error, 1)
			go func() {
				res, err := c.Get(slowURL + "/x")
				if err == nil {
					err = bodyErr(res)
				}
				answered <- err
			}()
			<-asked
			if res, _ := get(t, c, p.of(quick, quickSecure).URL+"/x"); res.StatusCode != 200 {
				t.Errorf("the quick origin: %d", res.StatusCode)
			}
			if res, _ := get(t, c, slowURL+"/robots.txt"); res.StatusCode != 200 {
				t.Errorf("robots.txt itself: %d", res.StatusCode)
			}
			h.wait(2)
			close(release)
			if err := <-answered; err != nil {
				t.Error(err)
			}
			h.wait(3)
		})
	}
}
