package documents

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// places are the folders of the packages whose functions docs/rules.md names. A function without a package is in the
// core, and any other package is a folder of the core.
var places = map[string]string{
	"": "scheduler/core", "term": "scheduler/term", "scheduler": "scheduler", "offers": "offers",
	"executor": "executor", "supervisor": "executor/supervisor", "daemon": "executor/daemon",
	"local": "cluster/local", "agent": "cluster/local/agent", "master": "cluster/local/master",
	"history": "history", "zookeeper": "registry/zookeeper", "database": "registry/database",
	"lease": "internal/lease", "pod": "cluster/kubernetes/pod",
}

var inCode = regexp.MustCompile("`([^`]*)`")

// TestRulesNameFunctionsThatExist: each rule of docs/rules.md names the functions that implement it.
func TestRulesNameFunctionsThatExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs/rules.md"))
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]map[string]bool{} // of the folders used so far
	rules := 0
	for line := range strings.Lines(string(text)) {
		if !regexp.MustCompile(`^\| [A-Z]\d`).MatchString(line) {
			continue
		}
		rules++
		cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(line), "|"), "|")
		named := inCode.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(named) == 0 {
			t.Errorf("a rule names no function: %s", line)
		}
		for _, name := range named {
			of, function, qualified := strings.Cut(name[1], ".")
			if !qualified {
				of, function = "", name[1]
			}
			folder, known := places[of]
			if !known {
				folder = "scheduler/core/" + of
			}
			if functions[folder] == nil {
				functions[folder] = functionsOf(t, folder)
			}
			if !functions[folder][function] {
				t.Errorf("%s: there is no function %s", cells[1], name[1])
			}
		}
	}
	if rules < 60 {
		t.Errorf("only %d rules were checked", rules)
	}
}

// functionsOf returns the names of all functions and methods of a package.
func functionsOf(t *testing.T, folder string) map[string]bool {
	names := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no files: %v", folder, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
