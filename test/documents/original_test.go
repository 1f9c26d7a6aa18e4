// Package documents checks that the documents say what is so.
package documents

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// TestOriginalNamesTestsThatExist: docs/original.md has a row for each defect, in
// order, and the tests that it names are there.
func TestOriginalNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs/original.md"))
	if err != nil {
		t.Fatal(err)
	}
	next, folders := 1, map[string]map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| D") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(line), "|"), "|")[1:]
		if len(cells) != 4 {
			t.Fatalf("%d cells, want 4: %s", len(cells), line)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if want := fmt.Sprintf("D%02d", next); cells[0] != want {
			t.Fatalf("row %s, want %s", cells[0], want)
		}
		next++
		named := cells[3]
		if named == "" {
			if !strings.Contains(cells[2], "ot built") && !strings.Contains(cells[2], "Does not arise") {
				t.Errorf("%s promises something and names no test", cells[0])
			}
			continue
		}
		for reference := range strings.SplitSeq(named, ", ") {
			folder, name, ok := strings.Cut(reference, ": ")
			if !ok {
				t.Errorf("%s: %q is not of the form folder: Test", cells[0], reference)
				continue
			}
			if folders[folder] == nil {
				folders[folder] = testsIn(t, folder)
			}
			if !folders[folder][name] {
				t.Errorf("%s: there is no %s in %s", cells[0], name, folder)
			}
		}
	}
	if next != 114 {
		t.Errorf("%d defects, want 113", next-1)
	}
}

// TestLinksLeadSomewhere: links between the repository's documents.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	files, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, filepath.Join(root, "README.md"), filepath.Join(root, "CHANGELOG.md")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), found[1])); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", filepath.Base(file), found[1])
			}
		}
	}
}

// testsIn are the functions of a folder's test files.
func testsIn(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
