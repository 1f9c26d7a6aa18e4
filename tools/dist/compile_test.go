package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// TestTheLinkerFindsTheVersion: the variables that the linker sets exist.
func TestTheLinkerFindsTheVersion(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", versioned, "release.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if file.Name.Name != filepath.Base(versioned) {
		t.Errorf("%s has package %s", versioned, file.Name.Name)
	}
	for _, name := range []string{"version", "commit"} {
		if o := file.Scope.Lookup(name); o == nil || o.Kind != ast.Var {
			t.Errorf("%s has no variable %s", versioned, name)
		}
	}
}
