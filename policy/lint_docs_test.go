package policy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"heed/policy"
)

// The table in the docs is the table in the code.
func TestDocumentedLintCodes(t *testing.T) {
	doc, err := os.ReadFile("../docs/matching.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(doc), "| code | severity | what it means |\n|---|---|---|\n")
	var want strings.Builder
	for _, c := range policy.LintCodes() {
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", c.Code, c.Severity, c.Title)
	}
	if !found || table != want.String() {
		t.Errorf("docs/matching.md, want its table to be\n%s", want.String())
	}
}
