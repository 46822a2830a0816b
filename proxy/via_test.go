package proxy_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"net/textproto"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heed/internal/netguard"
	"heed/policy"
	"heed/proxy"
)

var pseudonym = regexp.MustCompile(`heed-[0-9a-f]{8}`)

// pseudonymless puts a star for what differs from start to start in Via.
func pseudonymless(text string) string { return pseudonym.ReplaceAllString(text, "heed-*") }

func TestViaNamesEachLegsVersion(t *testing.T) {
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			got := make(chan []string, 1)
			plain, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
				got <- r.Header["Via"]
				w.Header().Set("Via", "1.1 cdn")
				w.WriteHeader(http.StatusEarlyHints)
			})
			h := start(t, robots{}, []*httptest.Server{secure})
			var hint []string
			trace := &httptrace.ClientTrace{Got1xxResponse: func(_ int, header textproto.MIMEHeader) error {
				hint = header["Via"]
				return nil
			}}
			req, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", p.of(plain, secure).URL+"/x", nil)
			req.Header.Set("Via", "1.0 mine (a, b)")
			res, err := h.client(p.http2).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = bodyErr(res)
			ours := map[bool]string{false: "1.1 heed-*", true: "2 heed-*"}
			for where, c := range map[string]struct{ got, want []string }{
				"request":  {<-got, []string{"1.0 mine (a, b)", ours[p.http2]}},
				"response": {res.Header["Via"], []string{"1.1 cdn", ours[p.secure]}},
				"hint":     {hint, []string{"1.1 cdn", ours[p.secure]}},
			} {
				if diff := cmp.Diff(strings.Join(c.want, "\n"), pseudonymless(strings.Join(c.got, "\n"))); diff != "" {
					t.Errorf("%s (-want +got):\n%s", where, diff)
				}
			}
		})
	}
	old := make(chan string, 1)
	origin := rawOrigin(t, func(c net.Conn) {
		head, _ := readHead(c)
		old <- pseudonymless(head)
		_, _ = io.WriteString(c, "HTTP/1.0 200 OK\r\n\r\n")
	})
	l := start(t, robots{}, nil).leg("http://" + origin)
	l.send("GET @/x HTTP/1.0\r\n\r\n")
	if res, _ := l.answer("GET"); pseudonymless(res.Header.Get("Via")) != "1.0 heed-*" {
		t.Errorf("Via of an HTTP/1.0 answer: %q", res.Header["Via"])
	}
	if head := <-old; !strings.Contains(head, "\r\nVia: 1.0 heed-*\r\n") {
		t.Errorf("Via of an HTTP/1.0 request: %q", head)
	}
}

// A request that comes round again is refused, whatever the mode; one that went
// through another heed is carried.
func TestLoopsEndInABadGateway(t *testing.T) {
	via := make(chan string, 1)
	plain, secure := origins(t, func(_ http.ResponseWriter, r *http.Request) { via <- r.Header.Get("Via") })
	for _, monitor := range []bool{false, true} {
		h := start(t, robots{}, []*httptest.Server{secure}, func(o *proxy.Options) { o.Monitor = monitor })
		_, _ = get(t, h.client(false), plain.URL+"/x")
		name := pseudonym.FindString(<-via)
		n := 1
		for _, p := range paths {
			for _, field := range []string{"1.1 " + name, "1.0 a, 1.1 " + strings.ToUpper(name) + " (heed), 2 b", "HTTP/1.1\t" + name} {
				req, _ := http.NewRequest("GET", p.of(plain, secure).URL+"/x", nil)
				req.Header["Via"] = []string{"1.1 first", field}
				res, err := h.client(p.http2).Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = bodyErr(res)
				explained(t, res, 502, "proxy_loop_detected")
				n++
				if r := recorded(h, n); r.Decision.Verdict != policy.Error || r.Decision.Reason != policy.ReasonUpstream || r.ErrKind != "proxy_loop_detected" || r.Err == "" {
					t.Errorf("record %+v", r)
				}
			}
		}
		res := h.raw("CONNECT", "CONNECT h.example:443 HTTP/1.1\r\nHost: h.example\r\nVia: 1.1 "+name+"\r\n\r\n")
		explained(t, res, 502, "proxy_loop_detected")
		for _, other := range []string{"1.1 heed", "1.1 " + name + "0", "1.1 heed-00000000", name} {
			res := h.raw("GET", "GET "+plain.URL+"/x HTTP/1.1\r\nHost: x\r\nVia: "+other+"\r\n\r\n")
			if res.StatusCode != 200 {
				t.Errorf("Via %q: %d", other, res.StatusCode)
			}
			<-via
		}
	}
}

// Nobody reaches heed's own listeners through heed, neither for a page nor for
// robots.txt nor by a tunnel.
func TestRequestsForHeedItselfAreALoop(t *testing.T) {
	guard := netguard.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil)
	transport := proxy.NewTransport(proxy.TransportOptions{Dial: guard.DialContext(time.Second)})
	source := sourceFunc(func(_ ctx, o policy.Origin) (policy.Access, error) {
		return policy.Access{URL: o.RobotsURL(), EgressDenied: true, Own: true}, nil
	})
	for _, leaf := range []bool{true, false} {
		h := start(t, source, nil, func(o *proxy.Options) {
			o.Transport, o.Dial = transport, guard.DialContext(time.Second)
			if !leaf {
				o.Leaf = nil
			}
		})
		guard.Refuse(netip.MustParseAddrPort(h.addr))
		n := 0
		check := func(res *http.Response, url string) {
			t.Helper()
			explained(t, res, 502, "proxy_loop_detected")
			n++
			if r := recorded(h, n); r.URL != url || r.Decision.Verdict != policy.Error || r.ErrKind != "proxy_loop_detected" {
				t.Errorf("record %+v", r)
			}
		}
		for _, path := range []string{"/", "/robots.txt"} {
			url := "http://" + h.addr + path
			check(h.raw("GET", "GET "+url+" HTTP/1.1\r\nHost: x\r\n\r\n"), url)
		}
		if leaf {
			c := h.secure(h.tunnel(h.addr), "127.0.0.1")
			check(exchangeRaw(t, c, "GET", fmt.Sprintf("GET /x HTTP/1.1\r\nHost: %s\r\n\r\n", h.addr)), "https://"+h.addr+"/x")
			continue
		}
		check(h.raw("CONNECT", "CONNECT "+h.addr+" HTTP/1.1\r\nHost: x\r\n\r\n"), h.addr)
	}
}
