package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// mainEnv makes the test binary heed itself: it runs main with its arguments.
const mainEnv = "HEED_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) == "1" {
		os.Unsetenv(mainEnv) // heed warns of HEED_ variables that it does not know
		main()
	}
	testscript.Main(leakCheck{m}, map[string]func(){"heed": main})
}

// leakCheck runs the tests and then fails when a goroutine is left over.
type leakCheck struct{ tests testscript.TestingM }

func (l leakCheck) Run() int {
	if code := l.tests.Run(); code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
