package ca

import (
	"bytes"
	"crypto/x509"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestBundle(t *testing.T) {
	a := open(t)
	root := selfSigned(t, caTemplate(), ecdsaKey(t))
	path := filepath.Join(t.TempDir(), "roots.pem")
	withoutNewline := bytes.TrimRight(root, "\n")
	write(t, path, append(append([]byte("# a comment\n"), pkcs8(t, ecdsaKey(t))...), withoutNewline...), 0o600)

	got, err := a.Bundle(env("SSL_CERT_FILE", path))
	if err != nil {
		t.Fatalf("Bundle: %v", err)
	}
	if want := string(root) + string(a.PEM()); string(got) != want {
		t.Errorf("got:\n%s\nwant the root and the CA alone:\n%s", got, want)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(got) {
		t.Error("the bundle cannot be read")
	}

	write(t, path, got, 0o600)
	again, err := a.Bundle(env("SSL_CERT_FILE", path))
	if err != nil || !bytes.Equal(again, got) {
		t.Errorf("a bundle made of the bundle differs: %v\n%s", err, again)
	}
}

func TestSystemRoots(t *testing.T) {
	dir := t.TempDir()
	root := selfSigned(t, caTemplate(), ecdsaKey(t))
	empty, good, absent := filepath.Join(dir, "empty"), filepath.Join(dir, "good"), filepath.Join(dir, "absent")
	write(t, empty, nil, 0o600)
	write(t, good, root, 0o600)
	for name, c := range map[string]struct {
		named      string
		candidates []string
		want       string // of the error; "" is success
	}{
		"the first usable candidate is taken":          {"", []string{absent, dir, empty, good}, ""},
		"the named file is taken before candidates":    {good, []string{absent}, ""},
		"no candidate can be used":                     {"", []string{absent, empty}, "no PEM bundle found at " + absent + ", " + empty},
		"a named file that is absent is no fallback":   {absent, []string{good}, absent + ": cannot be read"},
		"a named file without roots is no fallback":    {empty, []string{good}, "holds no PEM certificate"},
		"without candidates there is an error as well": {"", nil, "no PEM bundle"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := systemRoots(c.named, c.candidates)
			if c.want == "" {
				if err != nil || !bytes.Equal(got, root) {
					t.Errorf("got %q, %v", got, err)
				}
				return
			}
			var state *StateError
			if !errors.As(err, &state) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a *StateError with %q", err, c.want)
			}
		})
	}
}

func TestDefaultDir(t *testing.T) {
	abs := t.TempDir()
	home := filepath.Join(abs, ".local", "share", "heed")
	for name, c := range map[string]struct {
		getenv func(string) string
		want   string
	}{
		"XDG_DATA_HOME first":        {env("XDG_DATA_HOME", abs, "HOME", "/h"), filepath.Join(abs, "heed")},
		"HOME next":                  {env("HOME", abs), home},
		"relative folders not taken": {env("XDG_DATA_HOME", "x", "HOME", abs), home},
		"no home":                    {env(), "/var/lib/heed"},
		"relative home":              {env("HOME", "h"), "/var/lib/heed"},
	} {
		if got := DefaultDir(c.getenv); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
