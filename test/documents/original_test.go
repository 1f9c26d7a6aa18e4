// Package documents checks statements of the documents.
package documents

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// TestOriginalNamesTestsThatExist: docs/original.md has a row for each defect, in order. A row that promises
// something names a test, these tests exist, and anything described as not built yet does not exist.
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
		if fault := stale(cells[2]); fault != "" {
			t.Errorf("%s: %s", cells[0], fault)
		}
		named := cells[3]
		if named == "" {
			if !nothingElse.MatchString(cells[2]) {
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

// nothingElse matches a text that says that something is missing, and promises nothing.
var nothingElse = regexp.MustCompile(`^Not built yet: [A-Za-z ]+$`)

// missing are the folders that rows may describe as not built yet.
var missing = []string{"auth", "history"}

var notBuilt = regexp.MustCompile(`ot built yet: ([A-Za-z ]+)`)

// stale returns what is wrong with a row that describes something as not built yet: it exists, or it is unknown.
func stale(here string) string {
	for _, found := range notBuilt.FindAllStringSubmatch(here, -1) {
		if !slices.Contains(missing, found[1]) {
			return fmt.Sprintf("it says that %q is not built yet, which is none of what can be checked", found[1])
		}
		if _, err := os.Stat(filepath.Join(root, found[1])); err == nil {
			return fmt.Sprintf("it says that %s is not built yet, and there is a folder of that name", found[1])
		}
	}
	return ""
}

// testsIn returns the names of the functions in a folder's test files.
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
