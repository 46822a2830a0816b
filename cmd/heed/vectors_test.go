package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heed/policy"
)

// vector is one matching case.
type vector struct {
	Profile          policy.Profile
	Name, Robots     string
	Agent, URL       string
	RobotsB64        string `json:"robots_b64"`
	Allow            bool
	Line             int
	NotThroughProxy  bool `json:"not_through_proxy"`
	settled, hasLine bool // the file says what to expect under the profile that is tried
}

func (v vector) text(t *testing.T) []byte {
	if v.RobotsB64 == "" {
		return []byte(v.Robots)
	}
	b, err := base64.StdEncoding.DecodeString(v.RobotsB64)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// vectors returns the cases for a profile: those whose outcome is known under it,
// and those of robots.jsonl, which all doors have to answer alike under any.
func vectors(t *testing.T, profile policy.Profile) (all []vector) {
	t.Helper()
	add := func(file string, wanted func(*vector) bool) {
		data, err := os.ReadFile(filepath.Join("..", "..", "policy", "testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var v vector
			if err := json.Unmarshal(line, &v); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			v.NotThroughProxy = v.NotThroughProxy || strings.Contains(v.URL, "#")
			if wanted(&v) {
				all = append(all, v)
			}
		}
	}
	add("robots.jsonl", func(v *vector) bool {
		v.settled, v.hasLine = profile == policy.RFC9309, true
		return true
	})
	if profile == policy.Google {
		add("google.jsonl", func(v *vector) bool {
			// Its matcher alone disallows robots.txt; no door asks it.
			v.Allow = v.Allow || strings.HasSuffix(v.URL, "/robots.txt")
			v.settled = true
			return true
		})
	}
	add("documents.jsonl", func(v *vector) bool { v.settled = true; return v.Profile == profile })
	if len(all) < 100 {
		t.Fatalf("only %d vectors", len(all))
	}
	return all
}
