package main

import (
	"bufio"
	"bytes"
	"context"
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

// outcome is what every door must agree on.
type outcome struct {
	allow bool
	line  int
	by    policy.Profile
}

func outcomeOf(d policy.Decision) outcome { return outcome{d.Allowed(), d.Line, d.DisallowedBy} }

// The same file decides in the same way for the library, for heed check, for a
// plain request and for one out of a tunnel, under every profile.
func TestFourDoorsAgree(t *testing.T) {
	w := newDoors(t)
	for _, profile := range policy.Profiles() {
		for _, v := range vectors(t, profile) {
			t.Run(string(profile)+"/"+v.Name, func(t *testing.T) { w.agree(t, profile, v) })
		}
	}
}

func (w *doors) agree(t *testing.T, profile policy.Profile, v vector) {
	text := v.text(t)
	target, err := policy.ParseTarget(v.URL)
	if err != nil {
		t.Fatal(err)
	}
	access := policy.Access{Result: policy.Successful, Robots: policy.Parse(text)}
	want := outcomeOf(policy.Settings{Profile: profile, Tokens: []string{v.Agent}}.Decide(&access, target))
	if v.settled && (want.allow != v.Allow || v.hasLine && want.line != v.Line) {
		t.Errorf("policy: %+v, want allow %t by line %d", want, v.Allow, v.Line)
	}
	doors := map[string]outcome{"check": checkDoor(t, profile, text, v)}
	if !v.NotThroughProxy {
		path := v.URL[len("http://"):]
		if i := strings.IndexAny(path, "/?"); i >= 0 {
			path = path[i:]
		} else {
			path = ""
		}
		doors["plain"] = w.ask(t, profile, "http", path, v.Agent, text)
		doors["intercepted"] = w.ask(t, profile, "https", path, v.Agent, text)
	}
	for door, got := range doors {
		if got != want {
			t.Errorf("%s: %+v, want %+v\nrobots.txt: %q\nurl: %s, agent: %s", door, got, want, text, v.URL, v.Agent)
		}
	}
}

func checkDoor(t *testing.T, profile policy.Profile, text []byte, v vector) outcome {
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
	code := run([]string{"check", "-c", config, "-p", string(profile), "--json", "--robots", file, v.URL}, env{stdout: &out, stderr: &trouble})
	var r result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("check: exit %d, %s %s: %v", code, out.String(), trouble.String(), err)
	}
	if allowed := r.Verdict == policy.Allow; allowed != (code == exitOK) {
		t.Errorf("check: verdict %s, exit %d", r.Verdict, code)
	}
	return outcome{r.Verdict == policy.Allow, r.Line, r.DisallowedBy}
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
	proxies map[string]*door // by profile and agent
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

// through returns the heed of a profile and an agent.
func (w *doors) through(t *testing.T, profile policy.Profile, agent string) *door {
	t.Helper()
	if d, ok := w.proxies[string(profile)+" "+agent]; ok {
		return d
	}
	c := w.config
	c.Agent.Tokens = []string{agent}
	c.Matching.Profile = string(profile)
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
	w.proxies[string(profile)+" "+agent] = d
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
func (w *doors) ask(t *testing.T, profile policy.Profile, scheme, path, agent string, robots []byte) outcome {
	t.Helper()
	w.mu.Lock()
	w.hosts++
	host := fmt.Sprintf("h%d.example", w.hosts)
	// The host is a new one, and so is the origin that a full URL names.
	w.robots[host] = bytes.ReplaceAll(robots, []byte("http://h.example/"), []byte(scheme+"://"+host+"/"))
	w.mu.Unlock()
	d := w.through(t, profile, agent)
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
	return outcomeOf(r.Decision)
}
