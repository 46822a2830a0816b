package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"crypto/tls"
	"crypto/x509"

	"heed/fetch"
	"heed/internal/ca"
	"heed/internal/config"
	"heed/internal/netguard"
	"heed/policy"
	"heed/proxy"
)

func proxyTo(addr string) func(*http.Request) (*url.URL, error) {
	return http.ProxyURL(&url.URL{Scheme: "http", Host: addr})
}

// vector is one matching case.
type vector struct {
	Name, Robots, Agent, URL string
	RobotsB64                string `json:"robots_b64"`
	Allow                    bool
	Line                     int
	NotThroughProxy          bool `json:"not_through_proxy"`
}

func (v vector) text(t *testing.T) []byte {
	if v.RobotsB64 == "" {
		return []byte(v.Robots)
	}
	b, err := base64.StdEncoding.DecodeString(v.RobotsB64)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func vectors(t *testing.T) []vector {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "policy", "testdata", "robots.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []vector
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		out = append(out, v)
	}
	if len(out) < 100 {
		t.Fatalf("only %d vectors", len(out))
	}
	return out
}

// outcome is what every door must agree on.
type outcome struct {
	allow bool
	line  int
}

// The same file decides in the same way for the library, for heed check, for a
// plain request and for one out of a tunnel.
func TestFourDoorsAgree(t *testing.T) {
	w := newDoors(t)
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			want := outcome{v.Allow, v.Line}
			text := v.text(t)
			target, err := policy.ParseTarget(v.URL)
			if err != nil {
				t.Fatal(err)
			}
			d := policy.Parse(text).Decide([]string{v.Agent}, target)
			doors := map[string]outcome{
				"policy": {d.Allowed(), d.Line},
				"check":  checkDoor(t, text, v),
			}
			if !v.NotThroughProxy {
				path := strings.TrimPrefix(v.URL, "http://h.example")
				doors["plain"] = w.ask(t, "http", path, v.Agent, text)
				doors["intercepted"] = w.ask(t, "https", path, v.Agent, text)
			}
			for door, got := range doors {
				if got != want {
					t.Errorf("%s: %+v, want %+v\nrobots.txt: %q\nurl: %s, agent: %s", door, got, want, text, v.URL, v.Agent)
				}
			}
		})
	}
}

func checkDoor(t *testing.T, text []byte, v vector) outcome {
	t.Helper()
	file := filepath.Join(t.TempDir(), "robots.txt")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, trouble bytes.Buffer
	config := filepath.Join(t.TempDir(), "config.yaml")
	tokens, _ := json.Marshal([]string{v.Agent}) // JSON is YAML; a comma in a token must not part it
	if err := os.WriteFile(config, []byte("agent: {tokens: "+string(tokens)+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code := run([]string{"check", "-c", config, "--json", "--robots", file, v.URL}, env{stdout: &out, stderr: &trouble})
	var r result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("check: exit %d, %s %s: %v", code, out.String(), trouble.String(), err)
	}
	if allowed := r.Verdict == policy.Allow; allowed != (code == exitOK) {
		t.Errorf("check: verdict %s, exit %d", r.Verdict, code)
	}
	return outcome{r.Verdict == policy.Allow, r.Line}
}

// doors are a site for every host, an agent's own heed for each agent, and
// what those recorded.
type doors struct {
	mu      sync.Mutex
	robots  map[string][]byte // by host
	hosts   int
	reach   *reach
	config  config.Config
	ca      *ca.Authority
	proxies map[string]*door // by agent
	end     []func()
}

type door struct {
	addr    string
	records chan proxy.Record
}

func newDoors(t *testing.T) *doors {
	t.Helper()
	loaded, err := config.Load(config.Options{ReadFile: noFile})
	if err != nil {
		t.Fatal(err)
	}
	w := &doors{robots: map[string][]byte{}, config: loaded.Config, proxies: map[string]*door{}}
	if w.ca, err = ca.Open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.ca.PEM())
	sites := map[string]string{"80": w.serve(t, false), "443": w.serve(t, true)}
	guard := netguard.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, nil)
	w.reach = &reach{guard: guard, dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(address)
		return guard.DialContext(time.Second)(ctx, network, sites[port])
	}}
	w.reach.transport = newTransport(w.config, w.reach.dial, roots, proxy.Hosts{})
	t.Cleanup(func() {
		for _, f := range w.end {
			f()
		}
		w.reach.transport.CloseIdleConnections()
	})
	return w
}

// serve answers for every host, each with the robots.txt that was put for it.
func (w *doors) serve(t *testing.T, secure bool) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if secure {
		l = tls.NewListener(l, &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) { return w.ca.Leaf(h.ServerName) }})
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.RequestURI == "/robots.txt" {
			w.mu.Lock()
			defer w.mu.Unlock()
			_, _ = rw.Write(w.robots[r.Host])
		}
	})}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return addr
}

// through returns the heed of an agent.
func (w *doors) through(t *testing.T, agent string) *door {
	t.Helper()
	if d, ok := w.proxies[agent]; ok {
		return d
	}
	c := w.config
	c.Agent.Tokens = []string{agent}
	store := fetch.New(storeOptions(c, w.reach.transport, nil))
	o, err := proxyOptions(c, w.reach, store, w.ca)
	if err != nil {
		t.Fatal(err)
	}
	d := &door{records: make(chan proxy.Record, 1)}
	o.OnRecord = func(r *proxy.Record) { d.records <- *r }
	p, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.addr = l.Addr().String()
	w.proxies[agent] = d
	go func() { _ = p.Serve(l) }()
	w.end = append(w.end, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		store.Close()
	})
	return d
}

// ask sends the path, octet by octet, to a new host that has this robots.txt.
func (w *doors) ask(t *testing.T, scheme, path, agent string, robots []byte) outcome {
	t.Helper()
	w.mu.Lock()
	w.hosts++
	host := fmt.Sprintf("h%d.example", w.hosts)
	w.robots[host] = robots
	w.mu.Unlock()
	d := w.through(t, agent)
	c, err := net.Dial("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	target := "http://" + host + path
	if scheme == "https" {
		fmt.Fprintf(c, "CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n", host, host)
		if _, err := c.Read(make([]byte, 1024)); err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(w.ca.PEM())
		c = tls.Client(c, &tls.Config{RootCAs: roots, ServerName: host})
		if target = path; !strings.HasPrefix(path, "/") {
			target = "/" + path
		}
	}
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", target, host)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%s %s: %v", scheme, target, err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	r := <-d.records
	if r.Decision.Allowed() != (res.StatusCode == 200) || r.Decision.Allowed() == (res.StatusCode == 403) {
		t.Errorf("%s %s: status %d, verdict %s", scheme, target, res.StatusCode, r.Decision.Verdict)
	}
	return outcome{r.Decision.Allowed(), r.Decision.Line}
}
