package redisstore_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"heed/fetch"
	"heed/fetch/redisstore"
	"heed/internal/ca"
	"heed/internal/testtool"
	"heed/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, url string) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(url, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

const body = "User-agent: *\nDisallow: /x\n"

func entry(i int) fetch.Entry {
	sum := sha256.Sum256([]byte(body))
	now := time.UnixMilli(time.Now().UnixMilli())
	return fetch.Entry{
		Origin: fmt.Sprintf("https://h%d.example:8443", i), Result: policy.Successful, Status: 200, SHA256: hex.EncodeToString(sum[:]),
		Retrieved: now, Updated: now, Fresh: now.Add(time.Hour), Keep: now.Add(time.Hour),
	}
}

// exercise tries all that a Fleet does on two clients of one server.
func exercise(t *testing.T, url string) {
	t.Helper()
	a, b, ctx := open(t, url), open(t, url), t.Context()
	if _, err := a.Load(ctx, entry(1).Origin); !errors.Is(err, fetch.ErrNotStored) {
		t.Fatalf("nothing saved: %v", err)
	}
	_, cursor, err := b.Changes(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := a.Save(ctx, entry(i), []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	want := entry(3)
	got, err := b.Load(ctx, want.Origin)
	if got.Retrieved, got.Updated, got.Fresh, got.Keep = want.Retrieved, want.Updated, want.Fresh, want.Keep; err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if got, err := b.Body(ctx, want.SHA256); err != nil || string(got) != body {
		t.Errorf("body %q, %v", got, err)
	}
	if err := a.Delete(ctx, entry(0).Origin); err != nil {
		t.Fatal(err)
	}
	changed, cursor, err := b.Changes(ctx, cursor)
	if err != nil || len(changed) != 6 || changed[0] != entry(0).Origin || changed[5] != entry(0).Origin {
		t.Errorf("changes %q, %v", changed, err)
	}
	if changed, _, err := b.Changes(ctx, cursor); err != nil || len(changed) != 0 {
		t.Errorf("no further changes: %q, %v", changed, err)
	}
	if own, _, err := a.Changes(ctx, "0-0"); err != nil || len(own) != 0 {
		t.Errorf("its own changes: %q, %v", own, err)
	}
	var origins []string
	for e, err := range b.Entries(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		origins = append(origins, e.Origin)
	}
	slices.Sort(origins)
	if len(origins) != 4 || origins[0] != entry(1).Origin {
		t.Errorf("entries %q", origins)
	}
	lease := func(s *redisstore.Store, holder string, d time.Duration) bool {
		ok, err := s.Lease(ctx, want.Origin, holder, d)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !lease(a, "a", 200*time.Millisecond) || lease(b, "b", time.Minute) || !lease(a, "a", 200*time.Millisecond) {
		t.Error("a lease is its holder's")
	}
	if err := b.Release(ctx, want.Origin, "b"); err != nil || lease(b, "b", time.Minute) {
		t.Errorf("only its holder releases a lease: %v", err)
	}
	time.Sleep(300 * time.Millisecond)
	if !lease(b, "b", time.Minute) {
		t.Error("a lease ends by itself")
	}
	if err := b.Release(ctx, want.Origin, "b"); err != nil || !lease(a, "a", time.Minute) {
		t.Errorf("a lease that was released can be had: %v", err)
	}
}

func TestOneServer(t *testing.T) {
	r := testtool.StartRedis(t)
	exercise(t, "redis://"+r.Addr+"/3")
}

func TestPassword(t *testing.T) {
	r := testtool.StartRedis(t, "--requirepass", "secret")
	exercise(t, "redis://:secret@"+r.Addr)
	if _, err := open(t, "redis://:wrong@"+r.Addr).Load(t.Context(), "https://a.example"); err == nil || errors.Is(err, fetch.ErrNotStored) {
		t.Errorf("a wrong password: %v", err)
	}
}

func TestTLS(t *testing.T) {
	authority, err := ca.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := authority.Leaf("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name, kind string, der ...[]byte) string {
		var text bytes.Buffer
		for _, d := range der {
			_ = pem.Encode(&text, &pem.Block{Type: kind, Bytes: d})
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("SSL_CERT_FILE", authority.Path()) // the system's roots are read once
	r := testtool.StartRedis(t, "--port", "0", "--tls-port", "PORT", "--tls-auth-clients", "no",
		"--tls-cert-file", file("cert", "CERTIFICATE", leaf.Certificate...), "--tls-key-file", file("key", "PRIVATE KEY", key), "--tls-ca-cert-file", authority.Path())
	exercise(t, "rediss://"+r.Addr)
	if _, err := open(t, "redis://"+r.Addr).Load(t.Context(), "https://a.example"); err == nil || errors.Is(err, fetch.ErrNotStored) {
		t.Errorf("without TLS: %v", err)
	}
}

func TestCluster(t *testing.T) {
	r := testtool.StartRedis(t, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf")
	redis(t, r, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(redis(t, r, "CLUSTER", "INFO"), "cluster_state:ok"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the cluster does not come up")
		}
	}
	exercise(t, "redis://"+r.Addr+"?cluster=true")
	exerciseAgain := open(t, "redis://"+r.Addr+"?addr="+r.Addr)
	if err := exerciseAgain.Save(t.Context(), entry(9), []byte(body)); err != nil {
		t.Error(err)
	}
}

func TestSentinel(t *testing.T) {
	r := testtool.StartRedis(t)
	s := testtool.StartRedis(t, "--sentinel")
	redis(t, s, "SENTINEL", "MONITOR", "main", "127.0.0.1", r.Port(), "1")
	exercise(t, "redis://"+s.Addr+"/1?master_name=main")
}

func TestURLs(t *testing.T) {
	for _, url := range []string{"redis://user:secret@:bad:port", "redis://:secret@127.0.0.1:1/x", "redis://:secret@127.0.0.1:1?nope=1", "redis:", "http://a:secret@b"} {
		if s, err := redisstore.Open(url, time.Second); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, %v", url, s, err)
		}
	}
}
