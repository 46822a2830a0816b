package proxy_test

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"heed/proxy"
)

// A client that does not trust the CA is named once, however often it tries.
func TestClientThatDoesNotTrustTheCAIsNamedOnce(t *testing.T) {
	var log lockedBuffer
	h := start(t, robots{}, nil, func(o *proxy.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	for range 5 {
		if err := tls.Client(h.tunnel("h.example:443"), &tls.Config{ServerName: "h.example"}).Handshake(); err == nil {
			t.Fatal("the client trusts the CA")
		}
	}
	deadline := time.Now().Add(3 * time.Second)
	for !strings.Contains(log.String(), "heed ca export") && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond)
	if n := strings.Count(log.String(), "does not accept the interception certificate"); n != 1 || !strings.Contains(log.String(), "host=h.example") {
		t.Errorf("named %d times, want 1: %s", n, log.String())
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
