package testtool

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Redis is a redis-server on a loopback port, without persistence.
type Redis struct {
	Addr string

	t    testing.TB
	path string
	args []string
	cmd  *exec.Cmd
}

// StartRedis starts a server, or skips t where there is none. args are further
// settings, such as "--requirepass", "secret"; PORT in them stands for its port.
// It ends with t.
func StartRedis(t testing.TB, args ...string) *Redis {
	t.Helper()
	r := &Redis{t: t, path: Path(t, "redis-server"), args: args}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.Addr = l.Addr().String()
	_ = l.Close()
	r.Start()
	t.Cleanup(r.Kill)
	return r
}

// Start starts the server again, empty, on the same address.
func (r *Redis) Start() {
	r.t.Helper()
	host, port, _ := net.SplitHostPort(r.Addr)
	dir := r.t.TempDir()
	settings := fmt.Sprintf("bind %s\nport %s\ndir %s\nlogfile log\n", host, port, dir)
	if !slices.Contains(r.args, "--sentinel") {
		settings += "save \"\"\nappendonly no\n"
	}
	file := filepath.Join(dir, "redis.conf")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.cmd = exec.Command(r.path, file)
	for _, arg := range r.args {
		if arg == "PORT" {
			arg = port
		}
		r.cmd.Args = append(r.cmd.Args, arg)
	}
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", r.Addr, time.Second)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			r.t.Fatalf("redis-server does not listen: %v\n%s", err, log)
		}
	}
}

// Kill ends the server at once.
func (r *Redis) Kill() {
	if r.cmd != nil {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
		r.cmd = nil
	}
}

// Process is the running server.
func (r *Redis) Process() *os.Process { return r.cmd.Process }

// Port is the port of the address.
func (r *Redis) Port() string { return r.Addr[strings.LastIndexByte(r.Addr, ':')+1:] }
