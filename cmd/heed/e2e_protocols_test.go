package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"heed/internal/testtool"
)

// robotsBefore serves testRobots and hands everything else to next.
func robotsBefore(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			_, _ = io.WriteString(w, testRobots)
			return
		}
		next.ServeHTTP(w, r)
	}
}

func TestGitCloneOverSmartHTTP(t *testing.T) {
	git := testtool.Path(t, "git")
	dir := t.TempDir()
	sh := func(env []string, args ...string) (string, error) {
		cmd := exec.Command(git, args...)
		cmd.Dir = dir
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}, env...)
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), newNoise().(*noise).block, 0o600); err != nil {
		t.Fatal(err)
	}
	var head string
	for _, args := range [][]string{{"init", "-q", "."}, {"add", "file"}, {"commit", "-qm", "first"}, {"clone", "-q", "--bare", ".", "public"},
		{"clone", "-q", "--bare", ".", "private/repo"}, {"rev-parse", "HEAD"}} {
		var err error
		if head, err = sh(nil, args...); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, head)
		}
	}
	path, err := sh(nil, "--exec-path")
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{Path: filepath.Join(path, "git-http-backend"), Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"}}
	plain := newSite(t, false, false, "", robotsBefore(backend))
	secure := newSite(t, true, true, "", robotsBefore(backend))
	p := startProcess(t, []*site{plain, secure})
	env := []string{"http_proxy=http://" + p.addr, "https_proxy=http://" + p.addr, "GIT_SSL_CAINFO=" + p.ca}
	for n, s := range []*site{plain, secure} {
		clone := fmt.Sprint("clone", n)
		if out, err := sh(env, "clone", "-q", s.URL+"/public", clone); err != nil {
			t.Fatalf("clone: %v: %s", err, out)
		}
		if got, _ := sh(nil, "-C", clone, "rev-parse", "HEAD"); got != head {
			t.Errorf("cloned %s, want %s", got, head)
		}
		if s.count("/public/git-upload-pack") == 0 {
			t.Error("the clone was not over smart HTTP")
		}
		if out, err := sh(env, "clone", "-q", s.URL+"/private/repo", clone+"private"); err == nil || !strings.Contains(out, "403") {
			t.Errorf("a disallowed clone: %v: %s", err, out)
		}
	}
}

func TestGRPCHealthCheckThroughInterception(t *testing.T) {
	cert := newSite(t, true, true, "") // for its certificate
	server := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&cert.TLS.Certificates[0])))
	service := health.NewServer()
	grpc_health_v1.RegisterHealthServer(server, service)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	p := startProcess(t, []*site{cert})
	conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return p.connect(ctx, addr) }),
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: p.roots()})))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client := grpc_health_v1.NewHealthClient(conn)
	res, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil || res.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Fatalf("check: %v %v\n%s", res, err, p.log())
	}
	if _, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "none"}); status.Code(err) != codes.NotFound {
		t.Errorf("check of an unknown service: %v", err)
	}
	watch, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []grpc_health_v1.HealthCheckResponse_ServingStatus{1, 2, 1} { // serving, not, serving
		res, err := watch.Recv()
		if err != nil || res.Status != want {
			t.Fatalf("watch: %v %v, want %v", res, err, want)
		}
		service.SetServingStatus("", 3-want) // what comes next
	}
}

// connect opens a tunnel.
func (p *process) connect(ctx context.Context, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", p.addr)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", addr, addr)
	res, err := http.ReadResponse(bufio.NewReaderSize(c, 16), &http.Request{Method: http.MethodConnect})
	if err != nil || res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("CONNECT: %v %w", res, err)
	}
	return c, nil // the client speaks first, so nothing has been read ahead
}

func (p *process) roots() *x509.CertPool {
	p.t.Helper()
	text, err := os.ReadFile(p.ca)
	if err != nil {
		p.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	return roots
}

// Node's ws, over http in the absolute form and inside a tunnel over https.
func TestWebSocketOfNode(t *testing.T) {
	node := testtool.Path(t, "node")
	if out, err := exec.Command(node, "-e", `for (const m of ["ws", "http-proxy-agent", "https-proxy-agent"]) require(m)`).CombinedOutput(); err != nil {
		testtool.Missing(t, "Node's ws, http-proxy-agent and https-proxy-agent, found by NODE_PATH: "+string(out))
	}
	server := websocket.Server{Handler: func(c *websocket.Conn) {
		defer c.Close() // with a close frame
		for {
			var text string
			if err := websocket.Message.Receive(c, &text); err != nil {
				return
			}
			if err := websocket.Message.Send(c, text); err != nil || text == "bye" {
				return
			}
		}
	}}
	plain := newSite(t, false, false, "", robotsBefore(server))
	secure := newSite(t, true, false, "", robotsBefore(server))
	// https-proxy-agent compares certificates with "localhost" where a host is an address.
	p := startProcess(t, []*site{plain, secure}, "HEED_EGRESS_INSECURE_HOSTS=localhost")
	for _, s := range []*site{plain, secure} {
		for path, want := range map[string]string{"/chat": "5,70000,3 1000\n5,70000,3 1000\n", "/private/chat": "status 403\nstatus 403\n"} {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, node, filepath.Join("testdata", "clients", "websocket.cjs"), "ws"+strings.TrimPrefix(strings.Replace(s.URL, "127.0.0.1", "localhost", 1), "http")+path, "http://"+p.addr)
			cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+p.ca, "NODE_NO_WARNINGS=1")
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
				t.Errorf("%s%s: %v: %s, want %s", s.URL, path, err, out, want)
			}
		}
	}
}

// Each event reaches the reader before the next is sent.
func TestServerSentEventsOfCurl(t *testing.T) {
	curl := testtool.Path(t, "curl")
	next := make(chan struct{})
	events := robotsBefore(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 5 {
			fmt.Fprintf(w, "id: %d\ndata: tick\n\n", i)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
				return
			}
		}
	}))
	plain, secure := newSite(t, false, false, "", events), newSite(t, true, true, "", events)
	p := startProcess(t, []*site{plain, secure})
	for _, s := range []*site{plain, secure} {
		for _, version := range []string{"--http1.1", "--http2"} {
			cmd := exec.Command(curl, "-sSN", version, "--max-time", "30", "--noproxy", "", "--cacert", p.ca, "-x", "http://"+p.addr, s.URL+"/events")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines, got := bufio.NewScanner(out), 0
			for lines.Scan() {
				if lines.Text() == "data: tick" {
					got++
					next <- struct{}{}
				}
			}
			if err := cmd.Wait(); err != nil || got != 5 {
				t.Errorf("%s %s: %d events, %v", s.URL, version, got, err)
			}
		}
	}
}
