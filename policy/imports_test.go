package policy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The package is pure: what it imports cannot reach network, files or clock.
func TestPackageIsPure(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains([]string{"net", "net/http", "os", "os/exec", "io/fs", "syscall"}, path) ||
				strings.Contains(strings.Split(path, "/")[0], ".") || strings.HasPrefix(path, "heed/") {
				t.Errorf("%s imports %s, want only the pure part of the standard library", name, path)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "time" && !slices.Contains([]string{"Time", "Duration", "Second", "Minute", "Hour"}, sel.Sel.Name) {
					t.Errorf("%s uses time.%s, want no clock", name, sel.Sel.Name)
				}
			}
			return true
		})
	}
}
