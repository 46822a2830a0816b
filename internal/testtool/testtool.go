// Package testtool finds the programs that tests try heed with. It is imported
// by tests alone.
//
// A machine with nothing but Go passes the tests: what needs a program that is
// not there is skipped aloud. With REQUIRE_TOOLS set, as in CI, it fails
// instead, so that nothing is skipped unseen.
package testtool

import (
	"os"
	"os/exec"
	"testing"
)

// Path returns where the program is, or skips t.
func Path(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		Missing(t, program+" is not installed")
	}
	return path
}

// Python returns an interpreter that has the module, or skips t. The system's
// own comes first: distributions' packages belong to it.
func Python(t testing.TB, module string) string {
	t.Helper()
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if path, err := exec.LookPath(python); err == nil && exec.Command(path, "-c", "import "+module).Run() == nil {
			return path
		}
	}
	Missing(t, "no Python with the module "+module)
	return ""
}

// Missing skips t because of what is not there, or fails it where everything
// is required.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("REQUIRE_TOOLS") != "" {
		t.Fatalf("required: %s", what)
	}
	t.Skipf("SKIPPED: %s", what)
}
