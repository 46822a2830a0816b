package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"heed/internal/testtool"
)

// inParallel calls f for 0 to n-1, sixteen at a time.
func inParallel(n int, f func(int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range 16 {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// silentTunnel opens a tunnel and says nothing in it; the connection is closed with the test.
func (p *process) silentTunnel(authority string) net.Conn {
	c, err := net.Dial("tcp", p.addr)
	if err != nil {
		p.t.Error(err)
		return nil
	}
	p.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority)
	head := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
	if _, err := io.ReadFull(c, head); err != nil || !strings.Contains(string(head), " 200 ") {
		p.t.Errorf("CONNECT: %q %v", head, err)
	}
	return c
}

// CONNECTs after which nothing is said, or a ClientHello begins and does not end,
// are given up after the time for a handshake.
func TestConnectsLeftSilent(t *testing.T) {
	t.Parallel()
	n, patience := 200, "3s"
	if full() {
		n, patience = 2000, "15s"
	}
	secure := newSite(t, true, true, "")
	p := startProcess(t, []*site{secure}, "HEED_LIMITS_HEADER_TIMEOUT="+patience, "HEED_EGRESS_IDLE_TIMEOUT=500ms")
	authority := strings.TrimPrefix(secure.URL, "https://")
	if a, err := fetchURL(p.client(true), secure.URL+"/x"); err != nil || a.status != 200 {
		t.Fatal(a.status, err)
	}
	base := p.load()
	ended := make(chan error, n)
	inParallel(n, func(i int) {
		c := p.silentTunnel(authority)
		if c == nil {
			ended <- nil
			return
		}
		if i%2 == 0 {
			_, _ = c.Write([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}) // of 517 octets
		}
		go func() {
			_, err := c.Read(make([]byte, 1))
			ended <- err
		}()
	})
	held := p.load()
	t.Logf("%+v, with %d silent tunnels %+v", base, n, held)
	if open := p.metric("heed_connections_open"); open < float64(n) && !raceEnabled {
		t.Errorf("%v connections are open while %d tunnels are silent", open, n)
	}
	for range n {
		if err := <-ended; err == nil {
			t.Error("a silent tunnel was told something")
		}
	}
	t.Logf("afterwards %+v", p.awaitBase(base, "silent tunnels"))
	if open := p.metric("heed_connections_open"); open > 2 {
		t.Errorf("%v connections are open", open)
	}
}

// 1,000 idle connections inside interception, half of them HTTP/2, are held within
// 60 MB.
func TestIdleInterceptedConnections(t *testing.T) {
	const most = 60_000_000
	n := 100
	if full() {
		n = 1000
	}
	secure := newSite(t, true, true, "")
	p := newProcess(t, []*site{secure})
	if full() {
		p.released()
	}
	p.start()
	authority := strings.TrimPrefix(secure.URL, "https://")
	inParallel(n, func(i int) {
		c := p.silentTunnel(authority)
		if c == nil {
			return
		}
		if i%2 == 0 {
			idleHTTP1(t, tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}), authority)
			return
		}
		idleHTTP2(t, tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}), authority)
	})
	eventually(t, "all are idle", func() bool {
		return p.metric("heed_connections_open") == float64(n) && p.metric("heed_requests_open") == 0
	})
	held := p.load()
	// Memory is given back once it is quiet. Looking often would be no quiet.
	for deadline := time.Now().Add(30 * time.Second); held.resident > most && !raceEnabled && time.Now().Before(deadline); {
		time.Sleep(3 * time.Second)
		held = p.load()
	}
	t.Logf("%d idle connections: %d goroutines, %d descriptors, %d MB resident", n, held.goroutines, held.descriptors, held.resident/1e6)
	if held.resident > most && !raceEnabled {
		t.Errorf("%d MB are resident", held.resident/1e6)
	}
}

// released makes p the binary that users get: the tests and all that they need are
// in this one, and resident with it.
func (p *process) released() {
	p.t.Helper()
	binary := filepath.Join(p.t.TempDir(), "heed")
	build := exec.Command(testtool.Path(p.t, "go"), "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		p.t.Fatalf("go build: %v\n%s", err, out)
	}
	p.cmd.Path = binary
	p.cmd.Env = slices.DeleteFunc(p.cmd.Env, func(v string) bool { return strings.HasPrefix(v, mainEnv+"=") })
}

func idleHTTP1(t *testing.T, s *tls.Conn, authority string) {
	fmt.Fprintf(s, "GET /x HTTP/1.1\r\nHost: %s\r\n\r\n", authority)
	res, err := http.ReadResponse(bufio.NewReader(s), nil)
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != 200 {
		t.Errorf("%d %v", res.StatusCode, err)
	}
}

func idleHTTP2(t *testing.T, s *tls.Conn, authority string) {
	tr := &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return s, nil }}
	t.Cleanup(tr.CloseIdleConnections)
	if a, err := fetchURL(&http.Client{Transport: tr}, "https://"+authority+"/x"); err != nil || a.status != 200 || !strings.HasPrefix(a.header, "HTTP/2.0") {
		t.Errorf("%d %.8s %v", a.status, a.header, err)
	}
}

// Many hosts, each with a certificate of its own, and then many requests to one:
// what was made for the many has a bound, and takes nothing from the one.
func TestCertificatesOfManyHosts(t *testing.T) {
	hosts, requests := 300, 2000
	if full() {
		hosts, requests = 5000, 100_000
	}
	secure := newSite(t, true, true, "")
	p := startProcess(t, []*site{secure})
	inParallel(hosts, func(i int) {
		name := fmt.Sprintf("h%d.example", i)
		c := p.silentTunnel(name + ":443")
		if c == nil {
			return
		}
		s := tls.Client(c, &tls.Config{InsecureSkipVerify: true, ServerName: name})
		if err := s.Handshake(); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if err := s.ConnectionState().PeerCertificates[0].VerifyHostname(name); err != nil {
			t.Error(err)
		}
		_ = c.Close()
	})
	before := p.load()
	clients := []*http.Client{p.client(false), p.client(true)}
	for _, c := range clients {
		c.Transport.(*http.Transport).MaxIdleConnsPerHost = 16 // as many as ask at a time
	}
	inParallel(requests, func(i int) {
		if a, err := fetchURL(clients[i%2], secure.URL+"/x"); err != nil || a.status != 200 {
			t.Errorf("%d %v", a.status, err)
		}
	})
	after := p.load()
	issued, cached := p.metric("heed_certificates_issued_total"), p.metric("heed_certificates_cached")
	t.Logf("%v issued, %v cached; %d MiB resident after %d hosts, %d MiB after %d requests more",
		issued, cached, before.resident>>20, hosts, after.resident>>20, requests)
	if want := float64(hosts + 1); issued != want || cached > min(want, 10_000) {
		t.Errorf("%v issued and %v cached, want %v", issued, cached, want)
	}
	if after.resident > before.resident*3/2 && !raceEnabled {
		t.Errorf("%d MiB are resident after requests to one host, before them %d", after.resident>>20, before.resident>>20)
	}
}

// Names without end are no way to make heed hold more. TEST_FULL demands more of
// them than it keeps.
func TestCertificatesForNamesWithoutEnd(t *testing.T) {
	if os.Getenv("TEST_FULL") == "" {
		t.Skip("SKIPPED: takes long; TEST_FULL=1 runs it")
	}
	const names, kept = 12_000, 10_000
	p := startProcess(t, nil)
	inParallel(names, func(i int) {
		c := p.silentTunnel("one.example:443")
		if c == nil {
			return
		}
		_ = tls.Client(c, &tls.Config{InsecureSkipVerify: true, ServerName: fmt.Sprintf("r%d.example", i)}).Handshake()
		_ = c.Close()
	})
	issued, cached, held := p.metric("heed_certificates_issued_total"), p.metric("heed_certificates_cached"), p.load()
	t.Logf("%v issued, %v cached, %d MiB resident", issued, cached, held.resident>>20)
	if issued != names || cached > kept {
		t.Errorf("%v issued, %v cached", issued, cached)
	}
}
