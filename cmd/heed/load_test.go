package main

import (
	"bytes"
	"log"
	"os"
	"strings"
	"testing"

	"heed/internal/config"
)

// What net/http says through the standard logger is a remark for debugging, and in
// the format of all others.
func TestStandardLoggerIsForDebugging(t *testing.T) {
	flags := log.Flags()
	t.Cleanup(func() {
		log.SetOutput(os.Stderr)
		log.SetFlags(flags)
	})
	for level, want := range map[string]string{"info": "", "debug": `"level":"DEBUG","msg":"Unsolicited"`} {
		var out bytes.Buffer
		newLog(&out, config.Log{Level: level, Format: "json"})
		log.Print("Unsolicited")
		if got := out.String(); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q", level, got)
		}
	}
}
