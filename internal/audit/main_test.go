package audit

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// childEnv makes the test binary write to the log that it names until it is
// killed.
const childEnv = "AUDIT_TEST_WRITE"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		writeForever(path)
	}
	goleak.VerifyTestMain(m)
}

// writeForever writes numbered records from many goroutines, and says on standard
// output how many the Writer has acknowledged.
func writeForever(path string) {
	w, err := Open(Options{Path: path, Chain: true, Rotate: Rotation{Size: 1 << 20}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for g := range childWriters {
		wg.Go(func() {
			for n := 0; ; n++ {
				r := numbered(n)
				r.ID = fmt.Sprintf("%d-%d-%d", os.Getpid(), g, n)
				w.Record(r)
			}
		})
	}
	for {
		fmt.Println(w.Written())
	}
}

const childWriters = 8
