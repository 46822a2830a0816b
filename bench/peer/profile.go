package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// profileVariable tells a profiled heed where to serve its profiles.
const profileVariable = "BENCH_PROFILE_ADDRESS"

// profileSource is compiled into heed's main package for -profile, and into none
// that anybody else builds: heed has no such port.
const profileSource = `package main

import (
	"net/http"
	_ "net/http/pprof"
	"os"
)

func init() {
	go func() { panic(http.ListenAndServe(os.Getenv("` + profileVariable + `"), nil)) }()
}
`

// profiles writes an overlay that adds the source to heed's at root.
func profiles(dir, root string) (string, error) {
	source, overlay := filepath.Join(dir, "profile.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(source, []byte(profileSource), 0o600); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{
		"Replace": map[string]string{filepath.Join(root, "cmd", "heed", "bench_profile.go"): source},
	})
	if err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// Profile fetches a profile of a profiled heed, "profile" or "allocs", of the time
// from now on, into a file.
func (r *Running) Profile(ctx context.Context, which, file string, span time.Duration) error {
	url := fmt.Sprintf("http://%s/debug/pprof/%s?seconds=%d", r.Extra, which, max(1, int(span.Seconds())))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("profile %s: %s", which, res.Status)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(f, res.Body); err != nil {
		return err
	}
	return f.Close()
}
