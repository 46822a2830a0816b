package report

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine is where it was measured.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory string `json:"memory"`
	System string `json:"system"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	Load   string `json:"load"` // averages when the run began
}

// Here describes this machine.
func Here() Machine {
	m := Machine{
		CPU: after("/proc/cpuinfo", "model name", ":"), Cores: runtime.NumCPU(),
		System: strings.Trim(after("/etc/os-release", "PRETTY_NAME", "="), `"`),
		Kernel: read("/proc/sys/kernel/osrelease"), Go: runtime.Version() + " " + runtime.GOARCH,
		Load: strings.Join(strings.Fields(read("/proc/loadavg") + " - - -")[:3], " "),
	}
	if m.CPU == "" {
		m.CPU = runtime.GOARCH
	}
	kib, _ := strconv.Atoi(strings.TrimSuffix(after("/proc/meminfo", "MemTotal", ":"), " kB"))
	m.Memory = strconv.Itoa(kib>>20) + " GiB"
	return m
}

func read(file string) string {
	text, _ := os.ReadFile(file)
	return strings.TrimSpace(string(text))
}

// after is the value of the first line of a file that has the name.
func after(file, name, separator string) string {
	for line := range strings.Lines(read(file)) {
		if key, value, ok := strings.Cut(line, separator); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
