package http1_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// An exchange allocates what reading the answer takes, and little more.
func TestExchangeAllocations(t *testing.T) {
	u := origin(t, func(c net.Conn, _ int) {
		b := make([]byte, 4096)
		for {
			if n, err := c.Read(b); err != nil || !bytes.HasSuffix(b[:n], []byte("\r\n\r\n")) {
				return
			}
			_, _ = io.WriteString(c, answer)
		}
	})
	c, _ := client(t)
	r := request(t, "GET", u, nil)
	allocs := testing.AllocsPerRun(500, func() {
		res, err := c.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	})
	if allocs > 20 {
		t.Errorf("%.0f allocations an exchange", allocs)
	}
}

func BenchmarkExchange(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1024)) }))
	defer server.Close()
	u, _ := url.Parse(server.URL)
	ours, _ := client(b)
	theirs := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 10}
	defer theirs.CloseIdleConnections()
	for name, rt := range map[string]http.RoundTripper{"heed": ours, "net/http": theirs} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := rt.RoundTrip(request(b, "GET", u, nil))
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
		})
	}
}
