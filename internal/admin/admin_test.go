package admin

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const loopbackAddr = "127.0.0.1:8081"

type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends one request to a real listener on o. The field Host of header is
// what the request's Host becomes; "SELF" in any field is the listener's address.
func ask(t *testing.T, o Options, method, path string, header map[string]string) answer {
	t.Helper()
	srv := httptest.NewServer(New(o))
	defer srv.Close()
	self := strings.TrimPrefix(srv.URL, "http://")
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		v = strings.ReplaceAll(v, "SELF", self)
		if k == "Host" {
			req.Host = v
		} else {
			req.Header.Add(k, v)
		}
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func options() Options {
	return Options{Listen: loopbackAddr, Metrics: NewMetrics("v1", "go1", Sources{}), CA: []byte("-----BEGIN CERTIFICATE-----\n")}
}

func TestEndpoints(t *testing.T) {
	good := Check{"audit", func() error { return nil }}
	bad := func(name string) Check { return Check{name, func() error { return errors.New("s3cret path") }} }
	ready, unready, tunnel := options(), options(), options()
	ready.Checks = []Check{good}
	unready.Checks = []Check{bad("ca"), good, bad("store")}
	tunnel.CA = nil
	tests := []struct {
		name, path string
		opts       Options
		status     int
		mime, body string
	}{
		{"the process is up", "/healthz", unready, 200, "text/plain", "ok\n"},
		{"every check passes", "/readyz", ready, 200, "text/plain", "ok\n"},
		{"failing checks are named", "/readyz", unready, 503, "text/plain", "not ready: ca, store\n"},
		{"the CA certificate", "/ca.pem", ready, 200, "application/x-pem-file", "-----BEGIN CERTIFICATE-----\n"},
		{"no CA in tunnel mode", "/ca.pem", tunnel, 404, "text/plain", "heed intercepts nothing"},
		{"metrics", "/metrics", ready, 200, "text/plain", "# HELP heed_requests_total "},
		{"no metrics", "/metrics", Options{Listen: loopbackAddr}, 404, "text/plain", "not found"},
		{"the index links to what there is", "/", ready, 200, "text/html", `<a href="/ca.pem">`},
		{"an unknown path", "/metrics/x", ready, 404, "text/plain", "not found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ask(t, tt.opts, "GET", tt.path, nil)
			if got.status != tt.status || !strings.HasPrefix(got.header.Get("Content-Type"), tt.mime) || !strings.Contains(got.body, tt.body) {
				t.Errorf("GET %s: got %d %s %q; want %d %s %q", tt.path,
					got.status, got.header.Get("Content-Type"), got.body, tt.status, tt.mime, tt.body)
			}
			if got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Cache-Control") != "no-store" {
				t.Errorf("GET %s: header %v, want nosniff and no-store", tt.path, got.header)
			}
		})
	}
}

func TestIndexLinksToNothingThatIsNotThere(t *testing.T) {
	got := ask(t, Options{Listen: loopbackAddr}, "GET", "/", nil)
	if strings.Contains(got.body, "/ca.pem") || strings.Contains(got.body, "/metrics") {
		t.Errorf("got %s", got.body)
	}
}

func TestTheCACertificateIsSavedAsAFile(t *testing.T) {
	got := ask(t, options(), "GET", "/ca.pem", nil)
	if want := `attachment; filename="heed-ca.pem"`; got.header.Get("Content-Disposition") != want {
		t.Errorf("Content-Disposition: got %q, want %q", got.header.Get("Content-Disposition"), want)
	}
}

func TestMethods(t *testing.T) {
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/ca.pem", "/"} {
		if got := ask(t, options(), "HEAD", path, nil); got.status != 200 || got.body != "" {
			t.Errorf("HEAD %s: got %d %q, want 200 and no body", path, got.status, got.body)
		}
		for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
			got := ask(t, options(), method, path, nil)
			if got.status != 405 || got.header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: got %d, Allow %q; want 405, GET, HEAD", method, path, got.status, got.header.Get("Allow"))
			}
		}
	}
}
