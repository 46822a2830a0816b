package config_test

import (
	"errors"
	"io/fs"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"

	"heed/internal/config"
)

// sameConfig compares configurations; an absent list is an empty list.
var sameConfig = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
}

// files is a file system that holds only these.
func files(contents map[string]string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		text, ok := contents[path]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return []byte(text), nil
	}
}

// sources are the layers of one case. The file always exists, if only empty.
type sources struct {
	file  string
	env   []string
	flags []string
}

func load(t *testing.T, s sources) (*config.Loaded, error) {
	t.Helper()
	fset := pflag.NewFlagSet("test", pflag.ContinueOnError)
	config.AddFlags(fset)
	if err := fset.Parse(s.flags); err != nil {
		t.Fatalf("flags %q: %v", s.flags, err)
	}
	return config.Load(config.Options{
		ReadFile: files(map[string]string{"config.yaml": s.file}),
		Environ:  s.env,
		Flags:    fset,
	})
}

func mustLoad(t *testing.T, s sources) *config.Loaded {
	t.Helper()
	l, err := load(t, s)
	if err != nil {
		t.Fatalf("load %+v: %v", s, err)
	}
	return l
}

func faultsOf(t *testing.T, err error) []config.Fault {
	t.Helper()
	if err == nil {
		return nil
	}
	var e *config.Error
	if !errors.As(err, &e) {
		t.Fatalf("error is a %T, want *config.Error: %v", err, err)
	}
	return e.Faults
}

// wantFault checks that there is exactly one fault, for this key and place, and
// that its text holds part.
func wantFault(t *testing.T, in any, err error, key, where, part string) {
	t.Helper()
	faults := faultsOf(t, err)
	if len(faults) != 1 {
		t.Fatalf("%+v: got %d faults, want 1: %v", in, len(faults), err)
	}
	f := faults[0]
	if f.Key != key || f.Where != where || !strings.Contains(f.String(), part) {
		t.Errorf("%+v:\n got key %q, where %q: %s\nwant key %q, where %q, with %q", in, f.Key, f.Where, f, key, where, part)
	}
}
