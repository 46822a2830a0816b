//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heed/internal/ca"
	"heed/internal/testtool"
)

// namedSite is an origin under a name that is not "localhost": Go and others
// never ask a proxy for that.
type namedSite struct {
	*site
	url   string
	roots string // file
}

func newNamedSite(t *testing.T, secure bool, handler http.Handler) *namedSite {
	t.Helper()
	name, addr := loopbackName(t)
	authority, err := ca.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := authority.Leaf(name)
	if err != nil {
		t.Fatal(err)
	}
	s := &namedSite{site: &site{asked: map[string]int{}}, roots: authority.Path()}
	l, err := net.Listen("tcp", net.JoinHostPort(addr, "0"))
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	srv := &http.Server{
		ErrorLog:  log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{*leaf}},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			s.asked[r.URL.Path]++
			s.mu.Unlock()
			handler.ServeHTTP(w, r)
		}),
	}
	t.Cleanup(func() { _ = srv.Close() })
	if secure {
		s.url = "https://" + net.JoinHostPort(name, port)
		go func() { _ = srv.ServeTLS(l, "", "") }()
	} else {
		s.url = "http://" + net.JoinHostPort(name, port)
		go func() { _ = srv.Serve(l) }()
	}
	return s
}

// loopbackName returns a name of this machine and the loopback address it has.
func loopbackName(t *testing.T) (name, addr string) {
	t.Helper()
	host, _ := os.Hostname()
	for _, name := range []string{host, "ip6-localhost", "ip6-loopback"} {
		addrs, _ := net.LookupHost(name)
		for _, a := range addrs {
			if net.ParseIP(a).IsLoopback() && name != "localhost" {
				return strings.ToLower(name), a
			}
		}
	}
	testtool.Missing(t, "a name but localhost that leads to loopback in /etc/hosts")
	return "", ""
}

// behindRun runs a command behind heed run, with a NO_PROXY that would lead it
// around, and returns its standard output and exit code.
func behindRun(t *testing.T, s *namedSite, env []string, args ...string) (string, int) {
	t.Helper()
	cmd := runProcess(t, append([]string{"-a", "testbot", "--"}, args...)...)
	name, _ := loopbackName(t)
	cmd.Env = append(cmd.Env, "NO_PROXY=*,localhost,127.0.0.1,"+name, "no_proxy=*", "HEED_EGRESS_CA_FILE="+s.roots)
	cmd.Env = append(append(cmd.Env, "PYTHONDONTWRITEBYTECODE=1"), env...)
	var out, trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &trouble
	code := exitCode(t, cmd.Run())
	if t.Failed() || testing.Verbose() {
		t.Logf("%s", trouble.String())
	}
	return out.String() + trouble.String(), code
}

const greeting = `<a href="/public/page">page</a> <a href="/private/page">page</a>`

// Each client sees 200 for what is allowed and 403 for what is not, over http
// and https, without a flag of its own, and the origin is never asked for the
// latter.
func TestRunClients(t *testing.T) {
	files, err := filepath.Abs(filepath.Join("testdata", "clients"))
	if err != nil {
		t.Fatal(err)
	}
	script := func(interpreter, name string) func(*testing.T) []string {
		return func(t *testing.T) []string {
			return []string{testtool.Path(t, interpreter), filepath.Join(files, name)}
		}
	}
	python := func(module, name string) func(*testing.T) []string {
		return func(t *testing.T) []string {
			return []string{testtool.Python(t, module), filepath.Join(files, name)}
		}
	}
	for _, c := range []struct {
		name    string
		command func(*testing.T) []string
	}{
		{"curl", func(t *testing.T) []string {
			return []string{testtool.Path(t, "curl"), "-s", "-w", "%{http_code}\n", "-o", "/dev/null", "-o", "/dev/null"}
		}},
		{"wget", func(t *testing.T) []string {
			return []string{testtool.Path(t, "wget"), "--tries=1", "--server-response", "-O", "/dev/null"}
		}},
		{"Python urllib", python("ssl", "urllib_client.py")},
		{"Python requests", python("requests", "requests_client.py")},
		{"Python httpx", python("httpx", "httpx_client.py")},
		{"Python aiohttp", python("aiohttp", "aiohttp_client.py")},
		{"Node fetch", func(t *testing.T) []string { return []string{node(t), filepath.Join(files, "fetch.mjs")} }},
		{"Java HttpClient", script("java", "Client.java")},
		{"Perl LWP", func(t *testing.T) []string {
			perl := testtool.Path(t, "perl")
			if exec.Command(perl, "-MLWP::Protocol::https", "-e", "1").Run() != nil {
				testtool.Missing(t, "Perl's LWP::Protocol::https")
			}
			return []string{perl, filepath.Join(files, "lwp.pl")}
		}},
		{"Go", func(t *testing.T) []string {
			return []string{goClientBinary(t, filepath.Join(files, "goclient.go.txt"))}
		}},
	} {
		for _, secure := range []bool{false, true} {
			t.Run(c.name+map[bool]string{false: ", http", true: ", https"}[secure], func(t *testing.T) {
				t.Parallel()
				command := c.command(t)
				s := newNamedSite(t, secure, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/robots.txt" {
						_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private\n")
					}
				}))
				out, _ := behindRun(t, s, nil, append(command, s.url+"/public/page", s.url+"/private/page")...)
				if statuses := statusesOf(out); !slices.Equal(statuses, []string{"200", "403"}) {
					t.Errorf("statuses %v, want 200 and 403: %s", statuses, out)
				}
				checkAsked(t, s, out)
			})
		}
	}
}

// checkAsked holds the origin's view against what was allowed, and the summary's.
func checkAsked(t *testing.T, s *namedSite, out string) {
	t.Helper()
	if s.count("/public/page") != 1 || s.count("/private/page") != 0 || s.count("/robots.txt") != 1 {
		t.Errorf("the origin was asked for %v", s.asked)
	}
	if !strings.Contains(out, "1 refused") || !strings.Contains(out, "line 2: Disallow: /private (group *)") {
		t.Errorf("the summary does not name the refusal: %s", out)
	}
}

// statusesOf returns the status codes that stand alone on a line, or in one of
// wget's "HTTP/1.1 200 OK".
func statusesOf(out string) []string {
	var statuses []string
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) > 1 && strings.HasPrefix(fields[0], "HTTP/1.") {
			fields = fields[1:2]
		}
		if len(fields) == 1 && len(fields[0]) == 3 && strings.Trim(fields[0], "0123456789") == "" {
			statuses = append(statuses, fields[0])
		}
	}
	return statuses
}

func TestRunScrapyFollowsLinks(t *testing.T) {
	python := testtool.Python(t, "scrapy")
	spider, err := filepath.Abs(filepath.Join("testdata", "clients", "spider.py"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secure := range []bool{false, true} {
		s := newNamedSite(t, secure, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private\n")
				return
			}
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, greeting)
		}))
		out, code := behindRun(t, s, []string{"START_URL=" + s.url + "/"}, python, "-m", "scrapy", "runspider", spider)
		if code != 0 || !strings.Contains(out, "200 "+s.url+"/public/page") || !strings.Contains(out, "403 "+s.url+"/private/page") {
			t.Errorf("exit %d: %s", code, out)
		}
		checkAsked(t, s, out)
	}
}

func TestRunNpmInstall(t *testing.T) {
	node := node(t)
	npm := testtool.Path(t, "npm")
	archive := npmPackage(t)
	sum := sha512.Sum512(archive)
	for _, secure := range []bool{false, true} {
		scheme := map[bool]string{false: "http", true: "https"}[secure]
		s := newNamedSite(t, secure, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch name := strings.TrimPrefix(r.URL.Path, "/"); name {
			case "robots.txt":
				_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private\n")
			case "public-package":
				_ = json.NewEncoder(w).Encode(map[string]any{
					"name": name, "dist-tags": map[string]string{"latest": "1.0.0"},
					"versions": map[string]any{"1.0.0": map[string]any{"name": name, "version": "1.0.0", "dist": map[string]string{
						"tarball": scheme + "://" + r.Host + "/archive.tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}}},
				})
			case "archive.tgz":
				_, _ = w.Write(archive)
			default:
				w.WriteHeader(http.StatusNotFound)
			}
		}))
		env := []string{"PATH=" + filepath.Dir(node) + ":" + os.Getenv("PATH"), "npm_config_registry=" + s.url + "/", "npm_config_audit=false", "npm_config_fetch_retries=0"}
		out, code := behindRun(t, s, env, npm, "install", "--prefix", t.TempDir(), "public-package")
		if code != 0 || s.count("/archive.tgz") != 1 {
			t.Errorf("allowed package: exit %d: %s", code, out)
		}
		out, code = behindRun(t, s, env, npm, "install", "--prefix", t.TempDir(), "private-package")
		if code == 0 || !strings.Contains(out, "403") || s.count("/private-package") != 0 {
			t.Errorf("disallowed package: exit %d: %s", code, out)
		}
	}
}

// Settings of the user's own that lead around a proxy do not.
func TestRunIsNotLedAroundByUserSettings(t *testing.T) {
	s := newNamedSite(t, false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private\n")
		}
	}))
	name, _ := loopbackName(t)
	home := t.TempDir()
	for file, text := range map[string]string{
		".wgetrc": "http_proxy =\nuse_proxy = off\nno_proxy = " + name + "\n",
		".curlrc": "noproxy = \"*\"\nproxy = \"\"\nuser-agent = \"from-curlrc\"\n",
		".npmrc":  "noproxy=" + name + "\nfetch-retries=0\n",
	} {
		if err := os.WriteFile(filepath.Join(home, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"HOME=" + home, "NPM_CONFIG_NOPROXY=" + name, "PIP_PROXY=http://127.0.0.1:1", "no_grpc_proxy=*"}
	for _, command := range [][]string{
		{testtool.Path(t, "curl"), "-s", s.url + "/private/curl"},
		{testtool.Path(t, "wget"), "-qO-", "--tries=1", s.url + "/private/wget"},
		{testtool.Path(t, "npm"), "view", "package", "--registry", s.url + "/private/npm/"},
	} {
		out, _ := behindRun(t, s, append(env, "PATH="+filepath.Dir(node(t))+":"+os.Getenv("PATH")), command...)
		if !strings.Contains(out, " refused, ") || strings.Contains(out, " 0 refused") {
			t.Errorf("%s: %s", command[0], out)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for path := range s.asked {
		if path != "/robots.txt" {
			t.Errorf("the origin was asked for %s", path)
		}
	}
}

// npmPackage is an archive of one small package.
func npmPackage(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	body := `{"name": "public-package", "version": "1.0.0"}`
	if err := w.WriteHeader(&tar.Header{Name: "package/package.json", Mode: 0o644, Size: int64(len(body))}); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(w, body)
	_ = w.Close()
	_ = gz.Close()
	return b.Bytes()
}

func TestRunGitClone(t *testing.T) {
	git := testtool.Path(t, "git")
	dir := t.TempDir()
	sh := func(line string) {
		cmd := exec.Command("sh", "-ec", line)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@h.example", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@h.example"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	sh(`git init -q work; cd work; echo hello > file; git add file; git commit -qm first; cd ..
		mkdir public private; git clone -q --bare work public/repo.git; cd public/repo.git; git update-server-info; cd ../..; cp -r public/repo.git private/`)
	for _, secure := range []bool{false, true} {
		s := newNamedSite(t, secure, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private\n")
				return
			}
			http.FileServer(http.Dir(dir)).ServeHTTP(w, r)
		}))
		clone := filepath.Join(t.TempDir(), "clone")
		out, code := behindRun(t, s, nil, git, "clone", s.url+"/public/repo.git", clone)
		if _, err := os.Stat(filepath.Join(clone, "file")); code != 0 || err != nil {
			t.Errorf("allowed repository: exit %d, %v: %s", code, err, out)
		}
		out, code = behindRun(t, s, nil, git, "clone", s.url+"/private/repo.git", clone+"2")
		if code == 0 || !strings.Contains(out, "403") {
			t.Errorf("disallowed repository: exit %d: %s", code, out)
		}
		s.mu.Lock()
		for path, n := range s.asked {
			if strings.HasPrefix(path, "/private") {
				t.Errorf("the origin was asked %d times for %s", n, path)
			}
		}
		s.mu.Unlock()
	}
}

// node returns a Node whose fetch heeds the environment's proxy.
func node(t *testing.T) string {
	t.Helper()
	path := testtool.Path(t, "node")
	out, err := exec.Command(path, "--version").Output()
	var major, minor int
	if _, scan := fmt.Sscanf(string(out), "v%d.%d", &major, &minor); err != nil || scan != nil || major < 24 || major == 24 && minor < 5 {
		testtool.Missing(t, "Node 24.5 or later, which reads NODE_USE_ENV_PROXY")
	}
	return path
}

// goClientBinary compiles the client, as its authors would have done.
func goClientBinary(t *testing.T, source string) string {
	t.Helper()
	tool := testtool.Path(t, "go")
	dir := t.TempDir()
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tool, "build", "-o", "client", "main.go")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "client")
}
