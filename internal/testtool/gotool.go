package testtool

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// GoTool returns where a tool is that a module of its own below .ci names, built if
// need be, or skips t: its sources come from the network.
func GoTool(t testing.TB, module, tool string) string {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	modfile := filepath.Join(filepath.Dir(here), "..", "..", ".ci", module, "go.mod")
	var trouble strings.Builder
	cmd := exec.Command(Path(t, "go"), "tool", "-modfile="+modfile, "-n", tool)
	cmd.Stderr = &trouble
	out, err := cmd.Output()
	if err != nil {
		Missing(t, tool+" cannot be built: "+trouble.String())
	}
	return strings.TrimSpace(string(out))
}
