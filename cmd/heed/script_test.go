package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScript runs one script a subcommand, on a heed of its own process.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_DATA_HOME", e.Cd+"/data")
			e.Setenv("GORACE", "atexit_sleep_ms=0") // else each heed built with -race ends a second late
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"faulty":    faulty,
			"edit":      edit,
			"json":      jsonLines,
			"mklog":     makeLog,
			"ready":     awaitReady,
			"interrupt": interrupt,
			"term":      term,
		},
	})
}

// exits CODE ARG... runs heed and wants that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: exits CODE ARG...")
	}
	code := 0
	err := ts.Exec("heed", args[1:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("heed %q exits with %d, want %s", args[1:], code, args[0])
	}
}

// faulty ARG... runs heed and wants exit code 2, one error, one hint, and
// nothing on standard output.
func faulty(ts *testscript.TestScript, neg bool, args []string) {
	exits(ts, neg, append([]string{"2"}, args...))
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("heed %q: stdout %q, want nothing", args, out)
	}
	got := ts.ReadFile("stderr")
	if !regexp.MustCompile(`^error: [^\n]+\n(  [^\n]+\n)*hint: [^\n]+\n$`).MatchString(got) {
		ts.Fatalf("heed %q: stderr %q, want an error and a hint", args, got)
	}
}

// json COUNT FILE wants that many lines that begin with a brace, each of them a
// JSON object.
func jsonLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: json COUNT FILE")
	}
	n := 0
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		n++
		if !json.Valid([]byte(line)) {
			ts.Fatalf("not JSON: %s", line)
		}
	}
	if strconv.Itoa(n) != args[0] {
		ts.Fatalf("%d JSON objects, want %s", n, args[0])
	}
}

var readyPattern = regexp.MustCompile(`msg="heed is ready" proxy=http://(\S+).*?(?: admin=http://(\S+))?(?: ca=\S+)?\n`)

// ready FILE waits for the ready line in what heed serve writes to FILE, and
// sets PROXY and ADMIN to its addresses.
func awaitReady(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ready FILE")
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		log, _ := os.ReadFile(ts.MkAbs(args[0])) // not there yet is not ready yet
		if m := readyPattern.FindSubmatch(log); m != nil {
			ts.Setenv("PROXY", string(m[1]))
			ts.Setenv("ADMIN", string(m[2]))
			return
		}
	}
	ts.Fatalf("heed is not ready: %s", ts.ReadFile(args[0]))
}

// term sends SIGTERM to every background command.
func term(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: term")
	}
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Signal(syscall.SIGTERM))
	}
}

func writeScriptFile(ts *testscript.TestScript, name, text string) {
	ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
}

// interrupt sends SIGINT to every background command.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: interrupt")
	}
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Signal(os.Interrupt))
	}
}
