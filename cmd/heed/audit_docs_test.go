package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"heed/internal/audit"
	"heed/policy"
	"heed/proxy"
)

func auditDocs(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// everyField is a record in which nothing is absent.
func everyField() *proxy.Record {
	r := logged(5)
	r.ClientEntry, r.Decision.DisallowedBy, r.Decision.Override, r.Err = 1, policy.Google, "robots *: as agreed", "broken"
	r.Access.FinalURL, r.Access.Stale = "https://www.h.example/robots.txt", true
	return r
}

func TestDocsNameEachFieldOfARecord(t *testing.T) {
	docs := auditDocs(t)
	var fields map[string]any
	if err := json.Unmarshal(audit.Append(nil, everyField(), audit.QueryDrop), &fields); err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"chain", "seq", "prev", "hash", "torn", "lost", "cut"} {
		fields[more] = nil
	}
	for name := range fields["robots"].(map[string]any) {
		fields[name] = nil
	}
	if len(fields) < 35 {
		t.Errorf("only %d fields to be named", len(fields))
	}
	for name := range fields {
		if !strings.Contains(docs, "`"+name+"`") {
			t.Errorf("docs/audit.md does not name %s", name)
		}
	}
}

// The snippets for collectors are YAML, and what they take out of a record is there.
func TestDocsTakeFieldsThatThereAre(t *testing.T) {
	docs := auditDocs(t)
	line := audit.Append(nil, everyField(), audit.QueryDrop)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(docs, -1)
	if len(blocks) != 4 {
		t.Fatalf("%d blocks of YAML, want 4", len(blocks))
	}
	n := 0
	for _, block := range blocks {
		var any map[string]any
		if err := yaml.Unmarshal([]byte(block[1]), &any); err != nil {
			t.Errorf("%v in\n%s", err, block[1])
		}
		for _, m := range regexp.MustCompile(`from: (?:heed|attributes)\.([a-z0-9_]+)`).FindAllStringSubmatch(block[1], -1) {
			n++
			if !strings.Contains(string(line), `"`+m[1]+`":`) {
				t.Errorf("a record has no field %s, which a snippet takes", m[1])
			}
		}
	}
	if n < 20 {
		t.Errorf("%d fields are taken, want more", n)
	}
}
