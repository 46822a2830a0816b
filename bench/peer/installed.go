package peer

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"heed/bench/load"
	"heed/bench/process"
)

// kind is a peer that may or may not be installed.
type kind struct {
	program string
	version string // the argument that makes it say its version
	make    func(path string) Peer
}

var kinds = []kind{
	{"squid", "-v", squid},
	{"tinyproxy", "-v", tinyproxy},
	{"privoxy", "--version", privoxy},
	{"haproxy", "-v", haproxy},
	{"mitmdump", "--version", mitmproxy},
}

// Find returns all peers there are, heed first, and the programs that are not
// installed. What is compiled goes to dir; profiled makes heed serve profiles at
// its second address.
func Find(ctx context.Context, dir string, profiled bool) (peers []Peer, missing []string, err error) {
	ours, err := buildHeed(ctx, dir, profiled)
	if err != nil {
		return nil, nil, err
	}
	theirs, err := goproxies(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	peers = append(append(ours, Direct()), theirs...)
	for _, k := range kinds {
		path, err := process.Find(k.program)
		if err != nil {
			missing = append(missing, k.program)
			continue
		}
		p := k.make(path)
		p.Version = say(ctx, path, k.version)
		peers = append(peers, p)
	}
	return peers, missing, nil
}

// say is the first line that a program says of its version.
func say(ctx context.Context, path string, args ...string) string {
	out, _ := exec.CommandContext(ctx, path, args...).CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(line)
}

// build compiles a main package in the module at root.
func build(ctx context.Context, root, binary, pkg string, flags ...string) error {
	args := append([]string{"build", "-trimpath", "-ldflags", "-s -w", "-o", binary}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the image
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// goproxies compiles what Go programmers would write.
func goproxies(ctx context.Context, dir string) ([]Peer, error) {
	binary := filepath.Join(dir, "goproxies")
	if err := build(ctx, "", binary, "heed/bench/goproxies"); err != nil {
		return nil, err
	}
	version := "goproxy"
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	for _, d := range info.Deps {
		if d.Path == "github.com/elazarl/goproxy" {
			version += " " + d.Version
		}
	}
	run := func(kind string) func(site) (*exec.Cmd, error) {
		return func(s site) (*exec.Cmd, error) {
			cmd := exec.Command(binary, kind, s.address)
			cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+s.origin.CAFile) // goproxy trusts whom the system trusts
			return cmd, nil
		}
	}
	return []Peer{
		{Name: "goproxy", Version: version, vias: []load.Via{load.Plain, load.Tunnel}, command: run("bare")},
		{Name: "goproxy-mitm", Version: version, vias: []load.Via{load.Intercept}, command: run("mitm")},
		{Name: "reverseproxy", Version: "net/http/httputil, " + info.GoVersion, vias: []load.Via{load.Plain}, command: run("reverse")},
	}, nil
}
