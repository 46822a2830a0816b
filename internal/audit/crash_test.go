package audit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestKilledWhileWriting(t *testing.T) {
	times := 3
	if os.Getenv("TEST_FULL") != "" {
		times = 50
	}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	acknowledged := map[string]uint64{} // by process
	for range times {
		pid, n := killWhileWriting(t, path, 1+rand.Uint64N(5000))
		acknowledged[pid] = n
		w := open(t, Options{Path: path, Chain: true}) // the next start
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		checkCrashed(t, path, acknowledged)
		if t.Failed() {
			return
		}
	}
}

// killWhileWriting runs a process that writes to path and kills it when it has
// acknowledged enough records. It returns which it was, and how many it had.
func killWhileWriting(t *testing.T, path string, enough uint64) (pid string, acknowledged uint64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	lines := bufio.NewScanner(out)
	killed := false
	for lines.Scan() { // to the last word of it
		n, err := strconv.ParseUint(lines.Text(), 10, 64)
		if err == nil {
			acknowledged = max(acknowledged, n)
		}
		if n >= enough && !killed {
			killed = true
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	if !killed {
		t.Fatalf("the writer ended by itself, at %d of %d records", acknowledged, enough)
	}
	return strconv.Itoa(cmd.Process.Pid), acknowledged
}

// checkCrashed checks that a log verifies, and that of each process it has the
// records acknowledged, none of them twice, and each writer's without a gap.
func checkCrashed(t *testing.T, path string, acknowledged map[string]uint64) {
	t.Helper()
	names, err := PutAside(path)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, name := range append(names, path) {
		files = append(files, read(t, name))
	}
	if _, faults := findings(nil, []Link{headOf(t, path)}, files...); len(faults) > 0 {
		t.Errorf("after a kill: %+v", faults)
	}
	next := map[string]int{} // by process and writer
	written := map[string]uint64{}
	for line := range strings.Lines(strings.Join(files, "")) {
		var r struct{ ID string }
		if json.Unmarshal([]byte(line), &r) != nil || r.ID == "" {
			continue // torn, as the next line says, or of the log itself
		}
		cut := strings.LastIndexByte(r.ID, '-')
		writer := r.ID[:cut]
		if want := fmt.Sprint(next[writer]); r.ID[cut+1:] != want {
			t.Fatalf("writer %s: record %s where %s belongs", writer, r.ID[cut+1:], want)
		}
		next[writer]++
		written[strings.SplitN(r.ID, "-", 2)[0]]++
	}
	for pid, n := range acknowledged {
		if written[pid] < n {
			t.Errorf("%d records were acknowledged, and %d are in the log", n, written[pid])
		}
	}
}
