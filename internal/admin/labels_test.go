package admin

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"heed/policy"
)

// TestEveryReasonOfPolicyIsALabel fails when policy learns a reason that the
// metrics would count as other.
func TestEveryReasonOfPolicyIsALabel(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../policy/decision.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Reason" {
			return true
		}
		for _, v := range spec.Values {
			text, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found++
			if !known(policy.Reason(text)) {
				t.Errorf("reason %s has no verdict it belongs to", text)
			}
		}
		return true
	})
	if found == 0 {
		t.Error("policy/decision.go declares no reason")
	}
}

func known(r policy.Reason) bool {
	for _, list := range reasons {
		if slices.Contains(list, r) {
			return true
		}
	}
	return false
}
