package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc: USER_HZ, which is 100 on all of Linux's
// common architectures.
const tick = 10 * time.Millisecond

// Usage is what a process and all below it have taken.
type Usage struct {
	CPU      time.Duration // of user and system, of ended children, too
	Resident int64         // octets; pages that two of them share count twice
}

// Usage reads what p has taken until now. It is zero once p has ended.
func (p *Process) Usage() (Usage, error) { return Tree(p.ID()) }

// Tree is the usage of the process with the id and of all below it.
func Tree(root int) (Usage, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return Usage{}, err
	}
	parents, cpu := map[int]int{}, map[int]time.Duration{}
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		id, parent, took, err := parse(text)
		if err != nil {
			return Usage{}, fmt.Errorf("%s: %w", file, err)
		}
		parents[id], cpu[id] = parent, took
	}
	var u Usage
	for id := range parents {
		if below(id, root, parents) {
			u.CPU += cpu[id]
			u.Resident += resident(id)
		}
	}
	return u, nil
}

// below reports whether id is root or a descendant.
func below(id, root int, parents map[int]int) bool {
	for depth := 0; id > 1 && depth < 64; depth++ {
		if id == root {
			return true
		}
		id = parents[id]
	}
	return false
}

// parse reads /proc/PID/stat (proc(5)). The name in it may hold anything.
func parse(text []byte) (id, parent int, cpu time.Duration, err error) {
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return 0, 0, 0, fmt.Errorf("no name in %q", text)
	}
	first, _, _ := bytes.Cut(text, []byte(" "))
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 15 {
		return 0, 0, 0, fmt.Errorf("%d fields", len(fields))
	}
	number := func(s string) (n int) {
		if err == nil {
			n, err = strconv.Atoi(s)
		}
		return n
	}
	id, parent = number(string(first)), number(fields[1])
	for _, f := range fields[11:15] { // utime, stime, cutime, cstime
		cpu += time.Duration(number(f)) * tick
	}
	return id, parent, cpu, err
}

// resident is VmRSS; 0 of what has ended.
func resident(id int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", id))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "\nVmRSS:")
	line, _, _ := strings.Cut(rest, "\n")
	kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "kB")), 10, 64)
	return kib << 10
}
