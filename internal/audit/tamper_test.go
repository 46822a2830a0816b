package audit

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tampered is a log with the states of a Verifier before each of its lines, so
// that a change is looked for from where it is.
type tampered struct {
	t      *testing.T
	key    []byte
	lines  [][]byte // with their newlines
	states []Verifier
	head   Link
	faults *[]Fault
}

func newTampered(t *testing.T, key []byte, records int) *tampered {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	writeLog(t, Options{Path: path, Key: key}, 0, records)
	x := &tampered{t: t, key: key, head: headOf(t, path), faults: new([]Fault)}
	v := NewVerifier(key, func(f Fault) { *x.faults = append(*x.faults, f) })
	v.Complete = true
	v.Head("head", x.head)
	v.File("log")
	for line := range bytes.Lines([]byte(read(t, path))) {
		x.lines = append(x.lines, line)
		state := *v
		state.heads = slices.Clone(v.heads)
		x.states = append(x.states, state)
		v.Line(bytes.TrimSuffix(line, []byte{'\n'}), true)
	}
	v.End()
	if len(*x.faults) > 0 || len(x.lines) != records {
		t.Fatalf("an untouched log of %d lines: %v", len(x.lines), *x.faults)
	}
	return x
}

// after verifies text in the place of line i and what follows it, then the lines
// from rest on, until there is a fault. It returns the first.
func (x *tampered) after(i int, text []byte, rest int) (Fault, bool) {
	*x.faults = (*x.faults)[:0]
	v := x.states[i]
	v.heads = slices.Clone(v.heads)
	feed := func(text []byte) {
		for line := range bytes.Lines(text) {
			whole, ended := bytes.CutSuffix(line, []byte{'\n'})
			v.Line(whole, ended)
		}
	}
	feed(text)
	for ; rest < len(x.lines) && len(*x.faults) == 0; rest++ {
		feed(x.lines[rest])
	}
	if len(*x.faults) == 0 {
		v.End()
	}
	if len(*x.faults) == 0 {
		return Fault{}, false
	}
	return (*x.faults)[0], true
}

// found wants a fault that names line i (from 0), or the one after it.
func (x *tampered) found(what string, i int, text []byte, rest int) {
	x.t.Helper()
	f, ok := x.after(i, text, rest)
	if !ok {
		x.t.Errorf("%s: not found", what)
		return
	}
	at := uint64(i) + 1
	near := func(n uint64) bool { return at <= n && n <= at+2 }
	if f.Kind == FaultCut && rest == len(x.lines) && (f.Line == int64(at) || strings.Contains(f.Text, fmt.Sprintf("ends at seq %d;", i)) || i == 0) {
		return
	}
	if !near(f.Seq) && !near(uint64(f.Line)) {
		x.t.Errorf("%s: it is at line %d, and the fault does not name it: %+v", what, at, f)
	}
}

// step is how many positions apart a normal run looks at.
func step(n int) int {
	switch {
	case os.Getenv("TEST_FULL") != "":
		return 1
	case raceEnabled:
		return 50 * n
	}
	return n
}

func TestEachChangedOctetIsFound(t *testing.T) {
	for name, key := range map[string][]byte{"plain": nil, "keyed": testKey} {
		t.Run(name, func(t *testing.T) {
			x := newTampered(t, key, 1000)
			positions, at := 0, 0
			for i, line := range x.lines {
				changed := bytes.Clone(line)
				for ; at < len(line); at += step(17) {
					for _, c := range []byte{line[at] ^ 1, line[at] ^ 0x20, '\n', '"', 0} {
						if c == line[at] {
							continue
						}
						changed[at] = c
						text, rest := changed, i+1
						if at == len(line)-1 && rest < len(x.lines) { // two lines are one now
							text, rest = append(bytes.Clone(changed), x.lines[rest]...), rest+1
						}
						x.found(fmt.Sprintf("octet %d of line %d is %q", at, i+1, c), i, text, rest)
						positions++
					}
					changed[at] = line[at]
				}
				at -= len(line)
				if t.Failed() {
					return
				}
			}
			t.Logf("%d changes", positions)
		})
	}
}

func TestWholeLogsShowTheSame(t *testing.T) {
	x := newTampered(t, nil, 200)
	whole := bytes.Join(x.lines, nil)
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		text := bytes.Clone(whole)
		at := random.IntN(len(text))
		text[at] ^= byte(1 + random.IntN(255))
		if _, faults := findings(nil, []Link{x.head}, string(text)); len(faults) == 0 {
			t.Errorf("octet %d: %q in the place of %q is not found", at, text[at], whole[at])
		}
	}
}

func TestRemovedDuplicatedAndSwappedLinesAreFound(t *testing.T) {
	x := newTampered(t, nil, 1000)
	random := rand.New(rand.NewPCG(5, 6))
	for i, line := range x.lines {
		x.found(fmt.Sprintf("line %d removed", i+1), i, nil, i+1)
		x.found(fmt.Sprintf("line %d twice", i+1), i, append(bytes.Clone(line), line...), i+1)
		if i+1 < len(x.lines) {
			x.found(fmt.Sprintf("lines %d and %d swapped", i+1, i+2), i, append(bytes.Clone(x.lines[i+1]), line...), i+2)
		}
		if far := i + 2 + random.IntN(500); far < len(x.lines) {
			swapped := slices.Concat(x.lines[i+1 : far]...)
			text := slices.Concat(x.lines[far], swapped, line)
			x.found(fmt.Sprintf("lines %d and %d swapped", i+1, far+1), i, text, far+1)
			x.found(fmt.Sprintf("line %d before line %d, too", far+1, i+1), i, slices.Concat(x.lines[far], line), i+1)
		}
	}
}

func TestEachCutTailIsFound(t *testing.T) {
	x := newTampered(t, nil, 1000)
	for i, line := range x.lines {
		x.found(fmt.Sprintf("cut before line %d", i+1), i, nil, len(x.lines))
		for at := 1; at < len(line); at += step(11) {
			x.found(fmt.Sprintf("cut after %d octets of line %d", at, i+1), i, line[:at], len(x.lines))
		}
	}
}

func TestMissingFilesAndSplicedLogsAreFound(t *testing.T) {
	a, b := newTampered(t, nil, 100), newTampered(t, nil, 100)
	part := func(x *tampered, from, to int) string { return string(bytes.Join(x.lines[from:to], nil)) }
	for name, files := range map[string][]string{
		"the first file":                {part(a, 30, 60), part(a, 60, 100)},
		"the file in the middle":        {part(a, 0, 30), part(a, 60, 100)},
		"the last file":                 {part(a, 0, 30), part(a, 30, 60)},
		"files of two logs":             {part(a, 0, 30), part(b, 30, 100)},
		"two logs in one file":          {part(a, 0, 50) + part(b, 50, 100)},
		"a line of another log":         {part(a, 0, 50) + part(b, 50, 51) + part(a, 51, 100)},
		"a log after a log":             {part(b, 0, 100), part(a, 0, 100)},
		"files in another order":        {part(a, 30, 60), part(a, 0, 30), part(a, 60, 100)},
		"a file twice":                  {part(a, 0, 60), part(a, 30, 60), part(a, 60, 100)},
		"a log that ends inside a file": {part(a, 0, 60), part(a, 60, 99)},
		"nothing at all":                {""},
		"something else":                {strings.Repeat("no record\n", 5000)},
	} {
		if _, faults := findings(nil, []Link{a.head}, files...); len(faults) == 0 {
			t.Errorf("%s: not found", name)
		}
	}
	if _, faults := findings(nil, []Link{a.head}, part(a, 0, 30), part(a, 30, 60), part(a, 60, 100)); len(faults) > 0 {
		t.Errorf("whole: %v", faults)
	}
}

func TestALogWrittenAnewIsFound(t *testing.T) {
	x := newTampered(t, testKey, 50)
	forge := func(key []byte, change func(i int, text []byte) []byte) string {
		seal, at, out := newSealer(key), Link{Chain: x.head.Chain, Hash: NoDigest}, []byte(nil)
		for i, line := range x.lines {
			p, _ := parseSealed(bytes.TrimSuffix(line, []byte{'\n'}), "")
			text := p.text[:bytes.LastIndex(p.text, []byte(chainMark))]
			start := len(out)
			out, at = seal.seal(append(out, change(i, text)...), start, at)
			out = append(out, '\n')
		}
		return string(out)
	}
	same := func(_ int, text []byte) []byte { return text }
	lie := func(i int, text []byte) []byte {
		if i != 20 {
			return text
		}
		return bytes.Replace(text, []byte(`"verdict":"disallow"`), []byte(`"verdict":"allow"`), 1)
	}
	if _, faults := findings(testKey, []Link{x.head}, forge(testKey, same)); len(faults) > 0 {
		t.Fatalf("the owner of the key cannot write the log: %v", faults)
	}
	for name, key := range map[string][]byte{"without a key": nil, "with another key": []byte("another key, as long")} {
		if _, faults := findings(testKey, nil, forge(key, lie)); len(faults) < 50 {
			t.Errorf("written anew %s: %d faults, want one a line", name, len(faults))
		}
	}
	// Without a key only a head that was kept elsewhere shows it.
	plain := forge(nil, same)
	v, faults := findings(nil, nil, plain)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if _, faults := findings(nil, nil, forge(nil, lie)); len(faults) > 0 {
		t.Errorf("without a key and a head, a log that was written anew cannot show, and does: %v", faults)
	}
	if _, faults := findings(nil, []Link{v.Last}, forge(nil, lie)); len(faults) != 1 || faults[0].Kind != FaultChanged {
		t.Errorf("against the head kept elsewhere: %v", faults)
	}
}
