//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"heed/internal/testtool"
)

// runProcess returns heed run as its users start it, with loopback allowed.
func runProcess(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(tmp, "heed*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	cmd := exec.Command(os.Args[0], append([]string{"run"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"HEED_TEST_MAIN=1", "PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + tmp, "HEED_EGRESS_ALLOW=127.0.0.0/8,::1"}
	return cmd
}

// exitCode returns the code of a process that has ended; one that a signal
// ended has none.
func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode()
	}
	t.Fatalf("heed ended by itself: %v", err)
	return -1
}

func TestRunExitCodes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		env  string
		args []string
		code int
		says string
	}{
		{"success", "", []string{"--", "true"}, 0, "0 requests, 0 refused"},
		{"failure", "", []string{"--", "false"}, 1, ""},
		{"a code of the command's own", "", []string{"sh", "-c", "exit 77"}, 77, ""},
		{"the largest code", "", []string{"--", "sh", "-c", "exit 255"}, 255, ""},
		{"ended by SIGTERM", "", []string{"--", "sh", "-c", "kill -TERM $$"}, 128 + 15, ""},
		{"ended by SIGKILL", "", []string{"--", "sh", "-c", "kill -KILL $$"}, 128 + 9, ""},
		{"ended by SIGINT", "", []string{"--", "sh", "-c", "kill -INT $$"}, 128 + 2, ""},
		{"no such command", "", []string{"--", "no-such-command"}, 127, "error: no-such-command: "},
		{"no such file", "", []string{"--", "./no/such/file"}, 127, "error: "},
		{"a line of shell", "", []string{"--", "echo hello"}, 127, "hint: "},
		{"not executable", "", []string{"--", file}, 126, "error: "},
		{"no command", "", []string{"--"}, 2, "error: "},
		{"unknown flag", "", []string{"--no-such-flag", "--", "true"}, 2, "error: "},
		{"nested", "HEED_ACTIVE=1", []string{"--", "true"}, 2, "heed run inside heed run"},
		{"audit log on standard output", "HEED_AUDIT_PATH=-", []string{"--", "true"}, 2, "standard output belongs to the command"},
		{"report that cannot be written", "", []string{"--report", "/no/such/folder/r.json", "--", "sh", "-c", "echo ran; exit 5"}, 2, "report"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := runProcess(t, tc.args...)
			cmd.Env = append(cmd.Env, tc.env)
			var out, trouble bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &trouble
			if code := exitCode(t, cmd.Run()); code != tc.code || !strings.Contains(trouble.String(), tc.says) {
				t.Errorf("exit %d, %q; want %d and %q", code, trouble.String(), tc.code, tc.says)
			}
			if out.Len() > 0 {
				t.Errorf("standard output: %q", out.String())
			}
		})
	}
}

func TestRunLeavesTheCommandsOutputAlone(t *testing.T) {
	cmd := runProcess(t, "-q", "--", "sh", "-c", "cat; echo trouble >&2")
	cmd.Env = append(cmd.Env, "NO_PROXY=*", "no_proxy=.example")
	cmd.Stdin = strings.NewReader("from standard input\n")
	var out, trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &trouble
	if code := exitCode(t, cmd.Run()); code != 0 || out.String() != "from standard input\n" || trouble.String() != "trouble\n" {
		t.Errorf("exit %d, out %q, err %q", code, out.String(), trouble.String())
	}
}

func TestRunSetsTheEnvironment(t *testing.T) {
	cmd := runProcess(t, "--", "sh", "-c", `env; cat "$SSL_CERT_FILE" "$NODE_EXTRA_CA_CERTS" >/dev/null`)
	cmd.Env = append(cmd.Env, "NO_PROXY=internal.example", "http_proxy=http://elsewhere.example:1", "JAVA_TOOL_OPTIONS=-Dx=y")
	var out, trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &trouble
	if code := exitCode(t, cmd.Run()); code != 0 {
		t.Fatalf("exit %d: %s", code, trouble.String())
	}
	got := map[string]string{}
	for line := range strings.Lines(out.String()) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if _, twice := got[name]; twice {
			t.Errorf("%s is set twice", name)
		}
		got[name] = value
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy", "WS_PROXY", "WSS_PROXY", "HEED_PROXY", "npm_config_proxy"} {
		if !strings.HasPrefix(got[name], "http://127.0.0.1:") {
			t.Errorf("%s=%s", name, got[name])
		}
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if value, ok := got[name]; !ok || value != "" {
			t.Errorf("%s=%s, set: %v", name, value, ok)
		}
	}
	if !strings.HasPrefix(got["JAVA_TOOL_OPTIONS"], "-Dx=y -Dheed.active=1 -Dhttp.proxyHost=127.0.0.1 ") {
		t.Errorf("JAVA_TOOL_OPTIONS=%s", got["JAVA_TOOL_OPTIONS"])
	}
	if !strings.Contains(trouble.String(), "NO_PROXY=internal.example is not passed on") {
		t.Errorf("nothing is said of NO_PROXY: %s", trouble.String())
	}
}

func TestRunSummaryAndReport(t *testing.T) {
	curl := testtool.Path(t, "curl")
	origin := newSite(t, false, false, testRobots)
	report := filepath.Join(t.TempDir(), "report.json")
	cmd := runProcess(t, "-a", "testbot", "--report", report, "--", curl, "-s", origin.URL+"/a", origin.URL+"/private/1", origin.URL+"/private/2")
	var trouble bytes.Buffer
	cmd.Stderr = &trouble
	if code := exitCode(t, cmd.Run()); code != 0 {
		t.Fatalf("exit %d: %s", code, trouble.String())
	}
	want := "heed: 3 requests, 2 refused, 0 failed\nheed:   2 × " + origin.URL + "  line 6: Disallow: /private/ (group testbot)\n"
	if trouble.String() != want {
		t.Errorf("summary %q, want %q", trouble.String(), want)
	}
	data, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Requests, Refused, Errors int
		ExitCode                  int `json:"exit_code"`
		Refusals                  []counted
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got.Requests != 3 || got.Refused != 2 || got.Errors != 0 || got.ExitCode != 0 || len(got.Refusals) != 1 || got.Refusals[0].Count != 2 ||
		got.Refusals[0].Line != 6 || got.Refusals[0].Origin != origin.URL {
		t.Errorf("report %s", data)
	}
}

// counter counts each signal that it gets, and ends by its third kind.
const counter = `
for s in INT TERM HUP; do trap "echo $s >> $0" $s; done
trap 'exit 42' USR1
echo ready
while :; do sleep 0.02; done`

// Each signal is delivered once, whether it is sent to heed or to its group.
func TestRunForwardsSignalsOnce(t *testing.T) {
	for _, group := range []bool{false, true} {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			t.Run(fmt.Sprintf("%v, group %v", s, group), func(t *testing.T) {
				log := filepath.Join(t.TempDir(), "signals")
				cmd := runProcess(t, "-q", "--", "sh", "-c", counter, log)
				cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
				cmd.Stderr = os.Stderr
				stdout, _ := cmd.StdoutPipe()
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				_, _ = io.ReadFull(stdout, make([]byte, len("ready\n")))
				target := cmd.Process.Pid
				if group {
					target = -target
				}
				if err := syscall.Kill(target, s); err != nil {
					t.Fatal(err)
				}
				name := map[syscall.Signal]string{syscall.SIGINT: "INT", syscall.SIGTERM: "TERM", syscall.SIGHUP: "HUP"}[s]
				waitForText(t, log, name+"\n")
				time.Sleep(100 * time.Millisecond) // a second delivery would come by now
				if got, _ := os.ReadFile(log); string(got) != name+"\n" {
					t.Errorf("the command got %q, want %s once", got, name)
				}
				child := childOf(t, cmd.Process.Pid)
				_ = syscall.Kill(child, syscall.SIGUSR1)
				if code := exitCode(t, cmd.Wait()); code != 42 {
					t.Errorf("exit %d, want 42", code)
				}
			})
		}
	}
}

// Under a terminal, Ctrl-C reaches the command once and heed ends with its code.
func TestRunUnderATerminal(t *testing.T) {
	for _, tc := range []struct {
		name, script, keys string
		code               int
	}{
		{"interrupt, trapped", `trap 'echo INT >> $0; exit 5' INT; echo ready; while :; do sleep 0.02; done`, "\x03", 5},
		{"interrupt, not trapped", `echo ready; exec sleep 30`, "\x03", 128 + 2},
		{"quit", `echo ready; exec sleep 30`, "\x1c", 128 + 3},
		{"reads the terminal", `echo ready; read line; [ "$line" = hello ] && exit 9`, "hello\n", 9},
		{"reads the terminal beside a redirected input", `exec </dev/null; echo ready; read line </dev/tty; [ "$line" = hello ] && exit 9`, "hello\n", 9},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "signals")
			cmd := runProcess(t, "-q", "--", "sh", "-c", "ulimit -c 0; "+tc.script, log)
			tty, err := pty.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			defer tty.Close()
			watch(t, tty).waitFor(t, "ready")
			_, _ = io.WriteString(tty, tc.keys)
			if code := exitCode(t, cmd.Wait()); code != tc.code {
				t.Errorf("exit %d, want %d", code, tc.code)
			}
			if strings.Contains(tc.script, "trap") {
				if got, _ := os.ReadFile(log); string(got) != "INT\n" {
					t.Errorf("the command got %q, want INT once", got)
				}
			}
		})
	}
}

// In an interactive shell, Ctrl-Z stops heed and its command as one job.
func TestRunIsAJobOfTheShell(t *testing.T) {
	bash := testtool.Path(t, "bash")
	heed := runProcess(t, "-q", "--", "sh", "-c", "echo ready; exec sleep 30")
	shell := exec.Command(bash, "--norc", "--noprofile", "-i")
	shell.Env = append(heed.Env, "PS1=$ ", "TERM=dumb")
	shell.Dir = heed.Dir
	tty, err := pty.Start(shell)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	screen := watch(t, tty)
	_, _ = io.WriteString(tty, strings.Join(heed.Args[:len(heed.Args)-1], " ")+" 'echo re''ady; exec sleep 30'\n")
	screen.waitFor(t, "\nready\n")
	_, _ = io.WriteString(tty, "\x1a")
	screen.waitFor(t, "Stopped")
	_, _ = io.WriteString(tty, "fg; echo code=$?\n")
	screen.waitFor(t, "\n"+os.Args[0]) // the shell names the job that goes on
	time.Sleep(200 * time.Millisecond)
	_, _ = io.WriteString(tty, "\x03")
	screen.waitFor(t, "code=130")
	_, _ = io.WriteString(tty, "exit\n")
	_ = shell.Wait()
}

// An interactive shell redirects the input, and the command asks the terminal.
func TestRunBehindAPipeAsksTheTerminal(t *testing.T) {
	bash := testtool.Path(t, "bash")
	heed := runProcess(t)
	shell := exec.Command(bash, "--norc", "--noprofile", "-i")
	shell.Env = append(heed.Env, "PS1=$ ", "TERM=dumb")
	shell.Dir = heed.Dir
	tty, err := pty.Start(shell)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	screen := watch(t, tty)
	_, _ = io.WriteString(tty, "echo piped | "+heed.Args[0]+` run -q -- sh -c 'read a; echo as""king; read b </dev/tty; echo got=$a,$b'`+"\n")
	screen.waitFor(t, "\nasking\n")
	_, _ = io.WriteString(tty, "typed\n")
	screen.waitFor(t, "\ngot=piped,typed\n")
	_, _ = io.WriteString(tty, "exit\n")
	_ = shell.Wait()
}

// A signal while the last exchanges end cuts them; nothing is lost or left behind.
func TestRunSignalWhileDraining(t *testing.T) {
	curl := testtool.Path(t, "curl")
	origin := newSite(t, false, false, "", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	})
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
		audit := filepath.Join(t.TempDir(), "audit.jsonl")
		cmd := runProcess(t, "--audit", audit, "--", "sh", "-c", curl+" -sN "+origin.URL+"/endless >/dev/null & sleep 0.5; echo over; exit 5")
		stdout, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadFull(stdout, make([]byte, len("over\n")))
		time.Sleep(200 * time.Millisecond)
		_ = cmd.Process.Signal(s)
		if code := exitCode(t, cmd.Wait()); code != 5 {
			t.Errorf("%v: exit %d, want 5", s, code)
		}
		if log, _ := os.ReadFile(audit); strings.Count(string(log), "\n") != 1 {
			t.Errorf("%v: audit log %q, want one record", s, log)
		}
	}
}

// A signal that comes before the command does leaves nothing behind; that is
// checked when the test ends.
func TestRunSignalBeforeTheStart(t *testing.T) {
	for delay := range 6 {
		cmd := runProcess(t, "-q", "--", "sleep", "5")
		cmd.Env = append(cmd.Env, "HEED_HTTPS_CA_DIR="+t.TempDir())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(delay*8) * time.Millisecond)
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
}

func waitForText(t *testing.T, file, want string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		got, _ := os.ReadFile(file)
		if strings.Contains(string(got), want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s holds %q, want %q", file, got, want)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// screen is what a terminal has shown so far.
type screen struct {
	mu   sync.Mutex
	text []byte
}

// watch reads tty until nobody writes to it any more, and fails the test when
// that does not come to pass.
func watch(t *testing.T, tty io.Reader) *screen {
	s := &screen{}
	done := make(chan struct{})
	t.Cleanup(func() {
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Errorf("a process outlives heed; the terminal shows %q", s.text)
		}
	})
	go func() {
		defer close(done)
		b := make([]byte, 4096)
		for {
			n, err := tty.Read(b)
			s.mu.Lock()
			s.text = append(s.text, bytes.ReplaceAll(b[:n], []byte("\r"), nil)...)
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// waitFor waits until the terminal shows text, and forgets what came before its end.
func (s *screen) waitFor(t *testing.T, text string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		s.mu.Lock()
		got := string(s.text)
		if i := strings.Index(got, text); i >= 0 {
			s.text = s.text[i+len(text):]
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		if time.Now().After(deadline) {
			t.Fatalf("the terminal shows %q, want %q", got, text)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// childOf returns the one child of a process.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	out, err := exec.Command(testtool.Path(t, "ps"), "-o", "pid=", "--ppid", fmt.Sprint(pid)).Output()
	if err != nil {
		t.Fatal(err)
	}
	var child int
	if _, err := fmt.Sscan(string(out), &child); err != nil {
		t.Fatalf("children %q: %v", out, err)
	}
	return child
}
