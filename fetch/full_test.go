package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
)

// full reports whether tests that take long run at their full size.
func full() bool { return os.Getenv("TEST_FULL") != "" }

func digestOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}
