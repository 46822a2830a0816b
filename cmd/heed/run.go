package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"heed/internal/ca"
	"heed/internal/config"
)

// Exit codes of a command that could not be started, as shells have them.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

func runCommand(e env) *cobra.Command {
	r := &runner{env: e}
	c := &cobra.Command{
		Use:   "run [flags] -- CMD [ARG...]",
		Short: "Run CMD behind a private heed: proxy and CA trust set in its environment",
		Long: `Run CMD behind a heed of its own, on a free loopback port, with the environment
variables set by which programs find a proxy and a CA. Nothing but CMD's own output
goes to standard output; a summary goes to standard error. The exit code is CMD's,
128+n when signal n ended it.

A program that ignores the variables is not held back by them: see 'heed serve' and
a network of its own for that.`,
		Example: `  heed run -a mybot -- scrapy crawl news
  heed run -q --report report.json -- python3 crawl.py`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no command is given")
			}
			return nil
		},
	}
	c.Flags().SetInterspersed(false)
	load := settingsOver(c, e, runDefaults, "agent", "profile", "mode", "audit")
	c.Flags().BoolVarP(&r.quiet, "quiet", "q", false, "no summary, and no remarks but errors")
	c.Flags().StringVar(&r.report, "report", "", "write a summary as JSON to `FILE`")
	c.RunE = func(_ *cobra.Command, args []string) error {
		if e.getenv("HEED_ACTIVE") != "" {
			return usage("run the command itself; it is already behind "+e.getenv("HEED_PROXY"), "heed run inside heed run")
		}
		loaded, err := load()
		if err != nil {
			return err
		}
		return r.run(loaded, args)
	}
	return c
}

// runDefaults are where a private heed differs from one that serves. Its own
// listener is chosen by the system whatever the configuration says.
var runDefaults = map[string]string{"audit.path": "", "log.level": "warn"}

// runner is one heed run.
type runner struct {
	env
	quiet      bool
	report     string   // path; "" for none
	reportFile *os.File // opened before the command runs
	tally      tally
}

func (r *runner) run(loaded *config.Loaded, args []string) (err error) {
	c := loaded.Config
	if c.Audit.Path == "-" {
		return usage(`name a file (--audit FILE), or turn the log off (--audit "")`,
			"audit.path is -, from %s: standard output belongs to the command", loaded.Source("audit.path"))
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return notStarted(args[0], err)
	}
	// From here to the end: a signal must not leave files behind, or records out.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, forwarded...)
	defer signal.Stop(signals)
	if err := r.openReport(); err != nil {
		return err
	}
	c.Listen, c.TLS, c.Admin.Listen = "127.0.0.1:0", config.TLS{}, ""
	c.Auth.UsersFile = "" // the command would have to know a name
	if r.quiet {
		c.Log.Level = "error"
	}
	dir, err := os.MkdirTemp("", "heed-run-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := r.start(c, dir)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- s.proxy.Serve(s.listener) }()
	start := time.Now()
	code, err := r.behind(s, dir, path, args, signals)
	err = errors.Join(err, r.drain(s, c.Limits.ShutdownGrace, signals), <-served)
	if err != nil {
		return err
	}
	if err := r.summarise(code, time.Since(start)); err != nil {
		return err
	}
	if code != 0 {
		return &failure{code: code}
	}
	return nil
}

// start builds the private heed. A CA that cannot be kept is made for this run
// alone.
func (r *runner) start(c config.Config, dir string) (*server, error) {
	if c.HTTPS.Mode == "intercept" {
		_, err := ca.Open(caDir(c, r.env))
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
			r.remark("the CA cannot be kept (%v); this run has one of its own", err)
			c.HTTPS.CADir = filepath.Join(dir, "ca")
		}
	}
	log, level := newLog(r.stderr, c.Log)
	s, err := newServer(c, r.env, log, level)
	if err == nil {
		s.tap = r.tally.add
	}
	return s, err
}

// behind runs the command and returns its exit code.
func (r *runner) behind(s *server, dir, path string, args []string, signals <-chan os.Signal) (int, error) {
	environ, err := r.childEnv(s, dir)
	if err != nil {
		return 0, err
	}
	cmd := &exec.Cmd{Path: path, Args: args, Env: environ, Stdin: r.stdin, Stdout: r.stdout, Stderr: r.stderr}
	code, err := supervise(cmd, signals)
	if err != nil {
		return 0, notStarted(args[0], err)
	}
	return code, nil
}

func (r *runner) childEnv(s *server, dir string) ([]string, error) {
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if list := r.getenv(name); list != "" {
			r.remark("%s=%s is not passed on: what it names would go around the proxy", name, list)
		}
	}
	files := trustFiles{dir: dir}
	if s.authority == nil {
		r.remark("https.mode is tunnel: paths of HTTPS requests are not checked")
	} else {
		var warning, err error
		if files, warning, err = writeTrust(dir, s.authority.PEM(), r.getenv); err != nil {
			return nil, err
		}
		if warning != nil {
			r.remark("%v; programs will trust heed's CA alone", warning)
		}
	}
	addr := s.listener.Addr().String()
	more, err := writeSettings(files, "http://"+addr, r.getenv)
	if err != nil {
		return nil, err
	}
	return withEnv(r.environ, append(clientEnv(addr, files, r.getenv), more...)), nil
}

// drain lets what is in flight finish, so that its records are written; a
// signal cuts that short.
func (r *runner) drain(s *server, grace time.Duration, signals <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return s.shutdown(ctx, grace)
}

// remark is a word on standard error that -q silences.
func (r *runner) remark(format string, args ...any) {
	if !r.quiet {
		fmt.Fprintf(r.stderr, "heed: "+format+"\n", args...)
	}
}

// notStarted is the failure of a command that did not run, with the code that a
// shell would give it.
func notStarted(name string, err error) error {
	var lookup *exec.Error
	if errors.As(err, &lookup) {
		err = lookup.Err
	}
	code := exitNotExecutable
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		code = exitNotFound
	}
	hint := ""
	if strings.Contains(name, " ") {
		hint = "a command and its arguments are separate words: heed run -- sh -c '…' for a line of shell"
	}
	return &failure{code, fmt.Errorf("%s: %w", name, err), hint}
}
