// Package peer knows how each proxy is set up for the comparison: as its
// documentation or its distribution has it, without a cache, and trusting the
// origin's CA.
package peer

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"heed/bench/load"
	"heed/bench/origin"
	"heed/bench/process"
)

// Peer is a proxy that can be started, or the way without one.
type Peer struct {
	Name, Version string

	vias    []load.Via
	http2   bool                          // to intercepted clients
	command func(site) (*exec.Cmd, error) // nil: there is no proxy
}

// Direct is the reference: no proxy.
func Direct() Peer {
	return Peer{Name: "direct", Version: "no proxy", vias: []load.Via{load.Plain, load.Tunnel, load.Intercept}, http2: true}
}

// Does reports whether the peer can do the work.
func (p Peer) Does(w load.Work) bool {
	return slices.Contains(p.vias, w.Via) && (w.Streams == 0 || p.http2 || w.Via == load.Tunnel)
}

// site is what a peer is started with.
type site struct {
	dir, address, port string
	extra              string // another address that is free
	via                load.Via
	origin             *origin.Origin
}

// file is a path in the site's directory.
func (s site) file(name string) string { return filepath.Join(s.dir, name) }

// write makes a file out of a text in which the site's words stand in capitals.
func (s site) write(name, text string) (string, error) {
	text = strings.NewReplacer("{DIR}", s.dir, "{ADDRESS}", s.address, "{PORT}", s.port, "{EXTRA}", s.extra, "{CA}", s.origin.CAFile).Replace(text)
	return s.file(name), os.WriteFile(s.file(name), []byte(text), 0o644)
}

// Running is a started peer.
type Running struct {
	Peer
	Address string // "" without a proxy
	Extra   string // the second address it was given

	process *process.Process
	dir     string
}

// Start runs the peer for work of one kind, in a directory of its own below dir.
func (p Peer) Start(ctx context.Context, dir string, via load.Via, o *origin.Origin) (*Running, error) {
	r := &Running{Peer: p}
	if p.command == nil {
		return r, nil
	}
	var err error
	if r.dir, err = os.MkdirTemp(dir, p.Name+"-"); err != nil {
		return nil, err
	}
	// Peers that give up root write here, too.
	if err := os.Chmod(r.dir, 0o777); err != nil {
		return nil, err
	}
	addresses, err := process.Ports(2)
	if err != nil {
		return nil, err
	}
	r.Address, r.Extra = addresses[0], addresses[1]
	s := site{dir: r.dir, address: r.Address, extra: r.Extra, via: via, origin: o}
	s.port = r.Address[strings.LastIndexByte(r.Address, ':')+1:]
	cmd, err := p.command(s)
	if err != nil {
		return nil, err
	}
	if cmd.Dir == "" {
		cmd.Dir = s.dir
	}
	r.process, err = process.Start(ctx, cmd, s.dir, s.address)
	return r, err
}

// Stop ends it and removes what it wrote.
func (r *Running) Stop() {
	if r.process != nil {
		r.process.Stop()
		_ = os.RemoveAll(r.dir)
	}
}

// ErrEnded is that a peer has ended by itself.
var ErrEnded = errors.New("the peer has ended")

// Usage is what it has taken until now; nothing without a proxy.
func (r *Running) Usage() (process.Usage, error) {
	if r.process == nil {
		return process.Usage{}, nil
	}
	if !r.process.Running() {
		return process.Usage{}, ErrEnded
	}
	return r.process.Usage()
}

// Said is the end of what it wrote about itself.
func (r *Running) Said() string {
	if r.process == nil {
		return ""
	}
	return r.process.Said()
}
