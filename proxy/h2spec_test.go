package proxy_test

import (
	"encoding/xml"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"heed/internal/testtool"
	"heed/proxy"
)

// The intercepted side passes every test of h2spec (HTTP/2 and HPACK) that plain
// net/http passes.
func TestH2Spec(t *testing.T) {
	h2spec := testtool.GoTool(t, "h2spec", "h2spec")
	_, secure := origins(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "hello")
	})
	h := start(t, robots{}, []*httptest.Server{secure}, func(o *proxy.Options) {
		// The tunnel leads to where h2spec believes to be: the door.
		o.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			r.URL.Host = secure.Listener.Addr().String()
			return secure.Client().Transport.RoundTrip(r)
		})
	})
	var plain, intercepted map[string]bool
	var both sync.WaitGroup
	both.Go(func() { plain = failuresOf(t, h2spec, secure.Listener.Addr().String()) })
	both.Go(func() { intercepted = failuresOf(t, h2spec, h.door()) })
	both.Wait()
	if len(intercepted) > len(plain) { // or the machine was too busy for h2spec's patience
		again := failuresOf(t, h2spec, h.door())
		maps.DeleteFunc(intercepted, func(name string, _ bool) bool { return !again[name] })
	}
	t.Logf("net/http fails %d, the intercepted side %d", len(plain), len(intercepted))
	for name := range intercepted {
		if !plain[name] {
			t.Errorf("fails: %s", name)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// door listens for clients who know of no proxy, and returns its address: each
// connection goes through a tunnel of heed's to that same address.
func (h *heed) door() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	addr := l.Addr().String()
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { h.through(c, addr) })
		}
	})
	h.t.Cleanup(func() {
		_ = l.Close()
		open.Wait()
	})
	return addr
}

func (h *heed) through(c net.Conn, addr string) {
	defer c.Close()
	p, err := net.Dial("tcp", h.addr)
	if err != nil {
		h.t.Error(err)
		return
	}
	defer p.Close()
	_, _ = io.WriteString(p, "CONNECT "+addr+" HTTP/1.1\r\nHost: "+addr+"\r\n\r\n")
	if _, err := readHead(p); err != nil {
		h.t.Error(err)
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(p, c)
		_ = p.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(c, p)
	_ = c.Close()
	<-done
}

// failuresOf runs h2spec against addr and returns the tests that it fails.
func failuresOf(t *testing.T, h2spec, addr string) map[string]bool {
	host, port, _ := net.SplitHostPort(addr)
	report := filepath.Join(t.TempDir(), "report.xml")
	out, err := exec.Command(h2spec, "-t", "-k", "-h", host, "-p", port, "-o", "2", "-j", report).CombinedOutput()
	text, readErr := os.ReadFile(report)
	if readErr != nil {
		t.Errorf("h2spec: %v: %s", err, out)
		return nil
	}
	var suites struct {
		Suites []struct {
			Cases []struct {
				Package string    `xml:"package,attr"`
				Name    string    `xml:"classname,attr"`
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &suites); err != nil {
		t.Errorf("%v in %s", err, text)
		return nil
	}
	failed, n := map[string]bool{}, 0
	for _, s := range suites.Suites {
		for _, c := range s.Cases {
			n++
			if c.Failure != nil || c.Error != nil {
				failed[c.Package+": "+c.Name] = true
			}
		}
	}
	if n < 100 {
		t.Errorf("h2spec ran %d tests", n)
	}
	return failed
}
