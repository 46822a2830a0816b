package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// site is an origin that counts what it is asked for.
type site struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int
}

// newSite serves robots as /robots.txt and a greeting everywhere else. Secure
// ones speak HTTP/2, too.
func newSite(t *testing.T, secure, http2 bool, robots string, more ...http.HandlerFunc) *site {
	t.Helper()
	return newSiteAt(t, "127.0.0.1", secure, http2, robots, more...)
}

func newSiteAt(t *testing.T, host string, secure, http2 bool, robots string, more ...http.HandlerFunc) *site {
	t.Helper()
	s := &site{asked: map[string]int{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked[r.URL.Path]++
		s.mu.Unlock()
		if len(more) > 0 {
			more[0](w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Origin-Protocol", r.Proto)
		if r.URL.Path == "/robots.txt" {
			_, _ = io.WriteString(w, robots)
			return
		}
		fmt.Fprintf(w, "hello from %s", r.URL.Path)
	}))
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Listener.Close()
	s.Listener = l
	s.EnableHTTP2 = http2
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // tests break connections on purpose
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func (s *site) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

// process is a heed that runs as its users run it.
type process struct {
	t          *testing.T
	cmd        *exec.Cmd
	addr, ca   string // of the proxy; file of the CA certificate
	admin, dir string

	mu     sync.Mutex
	stderr bytes.Buffer
	exited chan error
}

var readyLine = regexp.MustCompile(`msg="heed is ready" proxy=https?://(\S+).* admin=http://(\S+)`)

// startProcess runs heed serve with loopback allowed and the sites' certificates trusted.
func startProcess(t *testing.T, sites []*site, env ...string) *process {
	t.Helper()
	p := newProcess(t, sites, env...)
	p.start()
	return p
}

// newProcess is a heed that start starts. Its folder may hold a config.yaml.
func newProcess(t *testing.T, sites []*site, env ...string) *process {
	t.Helper()
	p := &process{t: t, dir: t.TempDir(), exited: make(chan error, 1)}
	p.ca = filepath.Join(p.dir, "ca", "ca.pem")
	roots := filepath.Join(p.dir, "roots.pem")
	var certs bytes.Buffer
	for _, s := range sites {
		if c := s.Certificate(); c != nil {
			_ = pem.Encode(&certs, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
		}
	}
	if err := os.WriteFile(roots, certs.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(os.Args[0], "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "-a", "testbot")
	p.cmd.Dir = p.dir
	p.cmd.Env = append([]string{
		"HEED_TEST_MAIN=1", "PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "HEED_HTTPS_CA_DIR=" + filepath.Dir(p.ca),
		"HEED_EGRESS_ALLOW=127.0.0.0/8", "HEED_AUDIT_PATH=" + p.audit(), "HEED_ROBOTS_TIMEOUT=1s",
	}, env...)
	if certs.Len() > 0 {
		p.cmd.Env = append(p.cmd.Env, "HEED_EGRESS_CA_FILE="+roots)
	}
	t.Cleanup(func() {
		if p.cmd.Process == nil {
			return // it was not started
		}
		_ = p.cmd.Process.Kill()
		<-p.exited
	})
	return p
}

// start runs p.cmd and waits until it is ready.
func (p *process) start() {
	t := p.t
	t.Helper()
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.exited <- err
		t.Fatal(err)
	}
	ready := make(chan []string, 1)
	go p.watch(stderr, ready)
	select {
	case m := <-ready:
		p.addr, p.admin = m[1], m[2]
	case err := <-p.exited:
		p.exited <- err
		t.Fatalf("heed ended at once: %v\n%s", err, p.log())
	case <-time.After(20 * time.Second):
		t.Fatalf("heed is not ready: %s", p.log())
	}
}

// again starts a process anew that was killed.
func (p *process) again() {
	p.t.Helper()
	<-p.exited
	old := p.cmd
	p.cmd = exec.Command(old.Path, old.Args[1:]...)
	p.cmd.Dir, p.cmd.Env = old.Dir, old.Env
	p.start()
}

// watch collects the diagnostics, and waits for the process when they end.
func (p *process) watch(stderr io.Reader, ready chan<- []string) {
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		p.mu.Lock()
		fmt.Fprintln(&p.stderr, lines.Text())
		p.mu.Unlock()
		if m := readyLine.FindStringSubmatch(lines.Text()); m != nil {
			ready <- m
		}
	}
	p.exited <- p.cmd.Wait()
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

func (p *process) audit() string { return filepath.Join(p.dir, "audit.jsonl") }

// terminate sends SIGTERM and returns how the process ended.
func (p *process) terminate() error {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case err := <-p.exited:
		p.exited <- err // for the cleanup
		return err
	case <-time.After(40 * time.Second):
		p.t.Fatalf("heed does not end: %s", p.log())
		return nil
	}
}

// record is a line of the audit log.
type record map[string]any

// records ends heed and returns its audit log.
func (p *process) records() []record {
	p.t.Helper()
	if err := p.terminate(); err != nil {
		p.t.Errorf("exit: %v\n%s", err, p.log())
	}
	return p.readRecords()
}

// readRecords returns the audit log of a heed that has ended.
func (p *process) readRecords() []record {
	p.t.Helper()
	data, err := os.ReadFile(p.audit())
	if err != nil {
		p.t.Fatal(err)
	}
	var out []record
	for _, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if line == "" {
			continue
		}
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			p.t.Fatalf("audit line %q: %v", line, err)
		}
		out = append(out, r)
	}
	return out
}

// client goes through the process and trusts its CA.
func (p *process) client(http2 bool) *http.Client {
	p.t.Helper()
	pem, err := os.ReadFile(p.ca)
	if err != nil {
		p.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	tr := &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: p.addr}),
		TLSClientConfig:   &tls.Config{RootCAs: roots},
		ForceAttemptHTTP2: http2,
	}
	p.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 30 * time.Second}
}

// answer is what a client saw.
type answer struct {
	status int
	header string // the fields that a client can show, as text
	body   string
}

func fetchURL(c *http.Client, url string) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answer{}, err
	}
	res, err := c.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	header := bytes.NewBufferString(res.Proto + "\n")
	_ = res.Header.Write(header)
	return answer{res.StatusCode, header.String(), string(body)}, err
}
