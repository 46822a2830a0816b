package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// levels is the import graph: a package imports packages of lower levels alone.
// A package that is not here fails the test.
var levels = map[string]int{
	"heed/policy":                0,
	"heed/internal/config":       0,
	"heed/internal/ca":           0,
	"heed/internal/htpasswd":     0,
	"heed/internal/http1":        0,
	"heed/internal/netguard":     0,
	"heed/internal/pace":         0,
	"heed/internal/upstream":     0,
	"heed/internal/audit/bodies": 0,
	"heed/proxy":                 1,
	"heed/fetch":                 1,
	"heed/fetch/filestore":       2,
	"heed/fetch/redisstore":      2,
	"heed/internal/audit":        2,
	"heed/internal/admin":        2,
	"heed/cmd/heed":              3,
}

// testOnly are packages that tests import and nothing else may.
var testOnly = []string{"heed/internal/testtool"}

// pure is what the policy must not import: it decides on what it is given.
var pure = []string{"net", "net/http", "os"}

// confined are modules, each with the packages, or single files, that may
// import it.
var confined = map[string][]string{
	"github.com/elazarl/goproxy":          {"heed/proxy"},
	"github.com/gofrs/flock":              {"heed/internal/ca"},
	"github.com/patrickmn/go-cache":       {"heed/fetch/memory.go", "heed/internal/ca"},
	"github.com/prometheus/client_golang": {"heed/internal/admin"},
	"github.com/redis/go-redis":           {"heed/fetch/redisstore", "heed/internal/pace"},
	"github.com/spf13/cobra":              {"heed/cmd/heed"},
	"github.com/spf13/viper":              {"heed/internal/config"},
	"go.yaml.in/yaml":                     {"heed/internal/config"},
	"gopkg.in/yaml.v3":                    {},
	"github.com/rogpeppe/go-internal":     {},
	"go.uber.org/goleak":                  {},
	"github.com/google/go-cmp":            {},
}

// banned are identifiers that non-test code does not use. Those of goproxy sign
// with a private key that everybody has, or take a tunnel out of our hands;
// those of net/http go around the guard that checks every address. Those that
// only cmd may use touch the process as a whole.
var banned = []struct {
	importPath string
	names      []string
	inCmd      bool // cmd/heed may
}{
	{"github.com/elazarl/goproxy", []string{"GoproxyCa", "OkConnect", "MitmConnect", "HTTPMitmConnect", "RejectConnect", "AlwaysMitm", "AlwaysReject"}, false},
	{"net/http", []string{"DefaultTransport", "DefaultClient", "ProxyFromEnvironment", "Get", "Head", "Post", "PostForm"}, false},
	{"os", []string{"Args", "Exit", "Getenv", "LookupEnv", "Environ", "Setenv", "Unsetenv", "ExpandEnv"}, true},
	{"os/signal", []string{"Notify", "NotifyContext", "Ignore", "Reset", "Stop"}, true},
}

const (
	maxFileLines     = 300
	maxFunctionLines = 60
)

// source is one non-test file of the module.
type source struct {
	pkg, name string
	files     *token.FileSet
	ast       *ast.File
}

func (s source) String() string { return s.pkg + "/" + s.name }

// imports returns the paths that the file imports.
func (s source) imports() []string {
	var paths []string
	for _, i := range s.ast.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		paths = append(paths, p)
	}
	return paths
}

// sources parses every non-test file of the module, whatever system it is for.
func sources(t *testing.T) []source {
	t.Helper()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("SKIPPED: go is not on PATH")
	}
	cmd := exec.Command(tool, "list", "-json=Dir,ImportPath,GoFiles,CgoFiles,IgnoredGoFiles", "./...")
	cmd.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var all []source
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir, ImportPath                   string
			GoFiles, CgoFiles, IgnoredGoFiles []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, source{p.ImportPath, name, files, f})
		}
	}
	if len(all) == 0 {
		t.Fatal("no source files")
	}
	return all
}

func TestImportGraph(t *testing.T) {
	for _, s := range sources(t) {
		if slices.Contains(testOnly, s.pkg) {
			continue
		}
		level, known := levels[s.pkg]
		if !known {
			t.Errorf("%s has no level in the import graph", s.pkg)
			continue
		}
		for _, p := range s.imports() {
			if s.pkg == "heed/policy" && slices.Contains(pure, p) {
				t.Errorf("%s imports %s; the policy is pure", s, p)
			}
			if !under(p, "heed") {
				continue
			}
			if slices.Contains(testOnly, p) {
				t.Errorf("%s imports %s, which is for tests", s, p)
			} else if below, known := levels[p]; known && below >= level {
				t.Errorf("%s (level %d) imports %s (level %d)", s, level, p, below)
			}
		}
	}
}

func TestConfinedModules(t *testing.T) {
	for _, s := range sources(t) {
		for _, p := range s.imports() {
			for module, allowed := range confined {
				if under(p, module) && !slices.ContainsFunc(allowed, func(a string) bool { return a == s.pkg || a == s.String() }) {
					t.Errorf("%s imports %s; allowed: %q", s, p, allowed)
				}
			}
		}
	}
}

func TestBannedIdentifiers(t *testing.T) {
	for _, s := range sources(t) {
		if slices.Contains(testOnly, s.pkg) {
			continue
		}
		for _, b := range banned {
			if b.inCmd && s.pkg == "heed/cmd/heed" {
				continue
			}
			local := localName(s.ast, b.importPath)
			if local == "." {
				t.Errorf("%s imports %s with a dot", s, b.importPath)
			}
			ast.Inspect(s.ast, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && local != "" && x.Name == local && slices.Contains(b.names, sel.Sel.Name) {
					t.Errorf("%s: %s.%s is banned", s.files.Position(sel.Pos()), b.importPath, sel.Sel.Name)
				}
				return true
			})
		}
	}
}

func TestSize(t *testing.T) {
	for _, s := range sources(t) {
		if n := s.files.File(s.ast.Pos()).LineCount(); n > maxFileLines {
			t.Errorf("%s has %d lines, more than %d", s, n, maxFileLines)
		}
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := s.files.Position(f.End()).Line - s.files.Position(f.Pos()).Line + 1; n > maxFunctionLines {
				t.Errorf("%s: %s has %d lines, more than %d", s, f.Name.Name, n, maxFunctionLines)
			}
		}
	}
}

// localName is what the file calls the imported package, "" when it does not
// import it.
func localName(f *ast.File, importPath string) string {
	for _, i := range f.Imports {
		if p, _ := strconv.Unquote(i.Path.Value); p != importPath {
			continue
		}
		if i.Name != nil {
			return i.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

// under reports whether p is the package root or one below it.
func under(p, root string) bool {
	return p == root || strings.HasPrefix(p, root+"/")
}
