package peer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"heed/bench/load"
)

// heedConf is heed as shipped but for what the benchmark cannot do without:
// addresses, folders, and leave to speak to an origin on loopback whose CA
// nobody knows. It enforces the origin's robots.txt and audits to a file.
const heedConf = `listen: {ADDRESS}
admin:
  listen: ""
https:
  ca_dir: {DIR}/ca
  mode: %s
  tunnel_policy: %s
egress:
  allow: [127.0.0.0/8]
  ca_file: {CA}
audit:
  path: {DIR}/audit.jsonl
`

// heedChain are the settings of the two that are compared, as lines of the
// section audit.
var heedChain = []struct{ name, line string }{
	{"heed", "  chain: true\n"},
	{"heed-nochain", "  chain: false\n"},
}

// buildHeed compiles heed. One that has no hash chain makes one peer, not two.
func buildHeed(ctx context.Context, dir string, profiled bool) ([]Peer, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "heed").Output()
	if err != nil {
		return nil, fmt.Errorf("where heed's module is: %w", err)
	}
	binary, source := filepath.Join(dir, "heed"), strings.TrimSpace(string(root))
	var flags []string
	if profiled {
		overlay, err := profiles(dir, source)
		if err != nil {
			return nil, err
		}
		flags = []string{"-overlay", overlay}
	}
	if err := build(ctx, source, binary, "./cmd/heed", flags...); err != nil {
		return nil, err
	}
	version := say(ctx, binary, "version")
	if commit := say(ctx, "git", "-C", source, "describe", "--always", "--dirty", "--exclude=*"); !strings.Contains(commit, " ") {
		version += ", commit " + commit
	}
	var peers []Peer
	for _, c := range heedChain {
		p := Peer{
			Name: c.name, Version: version, http2: true, vias: []load.Via{load.Plain, load.Tunnel, load.Intercept},
			command: heed(binary, c.line, profiled),
		}
		peers = append(peers, p)
		if !known(binary, dir, c.line) {
			break
		}
	}
	return peers, nil
}

func heed(binary, line string, profiled bool) func(site) (*exec.Cmd, error) {
	return func(s site) (*exec.Cmd, error) {
		mode, policy := "intercept", "unrestricted"
		if s.via == load.Tunnel {
			mode, policy = "tunnel", "allow" // there are rules, and it cannot look inside
		}
		conf := fmt.Sprintf(heedConf, mode, policy)
		if known(binary, s.dir, line) {
			conf += line
		}
		file, err := s.write("heed.yaml", conf)
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(binary, "serve", "-c", file)
		if profiled {
			cmd.Env = append(os.Environ(), profileVariable+"="+s.extra)
		}
		return cmd, nil
	}
}

// known reports whether this heed has the setting.
func known(binary, dir, line string) bool {
	file := filepath.Join(dir, "probe.yaml")
	if err := os.WriteFile(file, []byte("audit:\n"+line), 0o600); err != nil {
		return false
	}
	return exec.Command(binary, "config", "check", "-q", "-c", file).Run() == nil
}
