package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// mainEnv makes the test binary heed itself: it runs main with its arguments.
const mainEnv = "HEED_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) == "1" {
		os.Unsetenv(mainEnv) // heed warns of HEED_ variables that it does not know
		main()
	}
	goleak.VerifyTestMain(m)
}
