package main

import (
	"context"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"heed/internal/testtool"
)

// inNamespace tells a test that it runs in a network of its own.
const inNamespace = "HEED_TEST_NAMESPACE"

// alone runs t again in a network namespace, where loopback can have any address,
// and reports whether this is that run. It skips t where there are none.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inNamespace) != "" {
		return true
	}
	testtool.Path(t, "ip")
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		testtool.Missing(t, "a network namespace: "+err.Error())
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "--- PASS: "+t.Name()) {
		t.Errorf("in a network namespace: %v\n%s", err, &out)
	}
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "_test.go:") {
			t.Log(strings.TrimSpace(line))
		}
	}
	return false
}

// ip sets the network up.
func ip(t *testing.T, args ...string) error {
	t.Helper()
	out, err := exec.Command(testtool.Path(t, "ip"), args...).CombinedOutput()
	if err != nil {
		t.Logf("ip %s: %v: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return err
}

// giveAddress gives loopback an address, where the system lets it have it.
func giveAddress(t *testing.T, addr netip.Addr) {
	t.Helper()
	if addr = addr.Unmap(); addr.IsUnspecified() || addr.IsMulticast() || addr.IsLoopback() {
		return
	}
	args := []string{"addr", "add", netip.PrefixFrom(addr, addr.BitLen()).String(), "dev", "lo"}
	if addr.Is6() {
		args = append(args, "nodad")
	}
	_ = ip(t, args...)
}

// A resolver answers names by what a test wants. It counts how often it was
// asked for each name and kind of address, from 0.
type resolver struct {
	answer func(name string, asked int) netip.Addr

	mu    sync.Mutex
	asked map[string]int
}

// start has every name of this process resolved by r, until t ends.
func (r *resolver) start(t *testing.T) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.asked = map[string]int{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = server.WriteTo(r.reply(buf[:n]), from)
		}
	}()
	old := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = old
		_ = server.Close()
		<-done
	})
}

func (r *resolver) reply(query []byte) []byte {
	var labels []string
	at := 12
	for ; query[at] != 0; at += 1 + int(query[at]) {
		labels = append(labels, string(query[at+1:at+1+int(query[at])]))
	}
	name, kind := strings.Join(labels, "."), query[at+2]
	r.mu.Lock()
	asked := r.asked[name+string(rune(kind))]
	r.asked[name+string(rune(kind))]++
	r.mu.Unlock()
	addr := r.answer(name, asked)
	if addr.Is6() {
		return dnsAnswer(query, 28, addr.AsSlice())
	}
	return dnsAnswer(query, 1, addr.AsSlice())
}
