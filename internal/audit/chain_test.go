package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heed/proxy"
)

var testKey = []byte("a key of more than 16 octets")

// numbered is a record like that of a refusal, with a number.
func numbered(i int) *proxy.Record {
	r := refusal()
	r.ID = fmt.Sprint(i)
	r.URL = fmt.Sprintf("https://h%d.example/private/?n=%d", i%7, i)
	return r
}

// writeLog writes the records from up to before to, in one run of a Writer.
func writeLog(t *testing.T, o Options, from, to int) {
	t.Helper()
	o.Chain = true
	w := open(t, o)
	for i := from; i < to; i++ {
		w.Record(numbered(i))
	}
	if err := w.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

// findings are the faults of a log.
func findings(key []byte, heads []Link, files ...string) (v *Verifier, faults []Fault) {
	v = NewVerifier(key, func(f Fault) { faults = append(faults, f) })
	v.Complete = true
	for _, h := range heads {
		v.Head("head", h)
	}
	for i, text := range files {
		v.File(fmt.Sprint("file ", i+1))
		for line := range bytes.Lines([]byte(text)) {
			whole, ended := bytes.CutSuffix(line, []byte{'\n'})
			v.Line(whole, ended)
		}
	}
	v.End()
	return v, faults
}

// verify checks that a log has no faults.
func verify(t *testing.T, key []byte, files ...string) *Verifier {
	t.Helper()
	v, faults := findings(key, nil, files...)
	for _, f := range faults {
		t.Errorf("fault: %+v", f)
	}
	return v
}

func headOf(t *testing.T, path string) Link {
	t.Helper()
	l, err := ReadHead(HeadPath(path))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestTheChainGoesOnOverRestartsAndNewFiles(t *testing.T) {
	for name, key := range map[string][]byte{"plain": nil, "keyed": testKey} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			o := Options{Path: path, Key: key}
			writeLog(t, o, 0, 5)
			writeLog(t, o, 5, 10)
			if err := os.Rename(path, path+".1"); err != nil {
				t.Fatal(err)
			}
			writeLog(t, o, 10, 12)
			v, faults := findings(key, []Link{headOf(t, path)}, read(t, path+".1"), read(t, path))
			if len(faults) > 0 || v.Records != 12 || v.First.Seq != 1 || v.Last.Seq != 12 {
				t.Errorf("%d records, seq %d to %d, faults %+v; want 12, 1 to 12, none", v.Records, v.First.Seq, v.Last.Seq, faults)
			}
			checkIDs(t, read(t, path+".1")+read(t, path), 12)
			if _, faults := findings([]byte("another key, as long"), nil, read(t, path)); len(faults) == 0 {
				t.Error("another key verifies the log")
			}
		})
	}
}

func TestALogWithoutItsHeadGoesOnWhereItEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	writeLog(t, Options{Path: path}, 0, 5)
	if err := os.Remove(HeadPath(path)); err != nil {
		t.Fatal(err)
	}
	writeLog(t, Options{Path: path}, 5, 6)
	if v := verify(t, nil, read(t, path)); v.Last.Seq != 6 || headOf(t, path) != v.Last {
		t.Errorf("the log ends at %+v, the head says %+v; want seq 6", v.Last, headOf(t, path))
	}
}

func TestOnStandardOutputEachStartBeginsAChain(t *testing.T) {
	var a, b bytes.Buffer
	writeLog(t, Options{Path: "-", Stdout: &a}, 0, 2)
	writeLog(t, Options{Path: "-", Stdout: &b}, 0, 2)
	if x, y := verify(t, nil, a.String()), verify(t, nil, b.String()); x.First.Chain == y.First.Chain {
		t.Errorf("both chains are called %s", x.First.Chain)
	}
}

func TestALogHasOneWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	w := open(t, Options{Path: path, Chain: true})
	if other, err := Open(Options{Path: path, Chain: true}); err == nil {
		other.Close()
		t.Error("a second Writer of the same chain was opened")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, Options{Path: path, Chain: true})
}

func TestWhatACrashLeaves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	writeLog(t, Options{Path: path}, 0, 3)
	whole := read(t, path)
	start := strings.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	second := whole[:start]
	previous := findLast(t, second)
	for cut := start; cut <= len(whole); cut += 37 {
		crashed(t, path, whole[:cut], previous)
	}
	crashed(t, path, whole[:len(whole)-1], previous) // the newline alone is missing
}

// crashed checks that a log which a crash left as text goes on.
func crashed(t *testing.T, path, text string, head Link) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(HeadPath(path), fmt.Appendf(nil, headLine, head.Chain, head.Seq, head.Hash[:]), 0o600); err != nil {
		t.Fatal(err)
	}
	writeLog(t, Options{Path: path}, 3, 5)
	v, faults := findings(nil, []Link{headOf(t, path)}, read(t, path))
	if len(faults) > 0 {
		t.Errorf("after a crash that left %d octets: %+v\n%s", len(text), faults, read(t, path))
	}
	if midway := !strings.HasSuffix(text, "}") && !strings.HasSuffix(text, "\n"); v.Torn == 1 != midway {
		t.Errorf("after %q: %d torn lines are told of", text[max(0, len(text)-20):], v.Torn)
	}
}

func findLast(t *testing.T, text string) Link {
	t.Helper()
	v, _ := findings(nil, nil, text)
	return v.Last
}

func TestALogThatWasCutBeforeAStartIsFoundAfterIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	writeLog(t, Options{Path: path}, 0, 5)
	lines := strings.SplitAfter(read(t, path), "\n")
	if err := os.WriteFile(path, []byte(strings.Join(lines[:3], "")), 0o600); err != nil {
		t.Fatal(err)
	}
	writeLog(t, Options{Path: path}, 5, 6)
	_, faults := findings(nil, []Link{headOf(t, path)}, read(t, path))
	if len(faults) != 1 || faults[0].Kind != FaultMissing || faults[0].Seq != 6 || !strings.Contains(faults[0].Text, "seq 4 to 5") {
		t.Errorf("faults %+v; want seq 4 to 5 missing before seq 6", faults)
	}
	if text := read(t, path); !strings.Contains(text, `"event":"cut"`) {
		t.Errorf("no record of the cut in %s", text)
	}
}
