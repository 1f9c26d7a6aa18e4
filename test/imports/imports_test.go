package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the repository's folder, seen from this one.
const root = "../.."

func TestImportsFollowTheLayout(t *testing.T) {
	t.Parallel()
	watch(t)
	packages := list(t)
	for _, sentence := range check(packages) {
		t.Error(sentence)
	}
	seen := 0
	for _, p := range packages {
		if in(p.ImportPath, module) {
			seen++
		}
	}
	if seen < 10 {
		t.Errorf("go list named %d packages of this module: the check saw too little to say anything", seen)
	}
}

// A pure package starts no goroutine and reads no clock, which its imports do not show.
func TestPurePackagesOnlyDecide(t *testing.T) {
	t.Parallel()
	looked := map[string]int{}
	eachSource(t, func(path string) error {
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		i := slices.IndexFunc(pure, func(whole string) bool { return in(dir, whole) })
		if i < 0 || strings.HasSuffix(dir, "test") {
			return nil
		}
		looked[pure[i]]++
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for n := range ast.Preorder(file) {
			if sentence := begins(n); sentence != "" {
				t.Errorf("%s: %s is pure, and %s", fset.Position(n.Pos()), dir, sentence)
			}
		}
		return nil
	})
	for _, whole := range pure {
		if looked[whole] == 0 {
			t.Errorf("no file of %s was checked", whole)
		}
	}
}

// Libraries that only tests need would be required by every module that imports a package of this one.
func TestTestsNeedFewLibrariesOfTheirOwn(t *testing.T) {
	t.Parallel()
	watch(t)
	// A change that adds a library to a test changes this file.
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	const each = "{{with .Module}}{{.Path}}{{end}}"
	ofProduct := goList(t, "-f", each, "-deps", "./cmd/...", "./client/...", "./sdk/...")
	ofTests := goList(t, "-f", each, "-deps", "-test", "-tags", "nomsgpack,nightly,soak", "./...")
	known := slices.Concat(strings.Fields(string(ofProduct)), testLibraries)
	needed := strings.Fields(string(ofTests))
	slices.Sort(needed)
	for _, path := range slices.Compact(needed) {
		if !slices.Contains(known, path) {
			t.Errorf("only tests need %s, but every module that imports this one would require it: move these tests "+
				"to test/conformance", path)
		}
	}
	for _, path := range testLibraries {
		if !slices.Contains(needed, path) {
			t.Errorf("%s is needed by no test: remove it from testLibraries", path)
		}
	}
}

// refusePart enforces the order of the core's packages.
func TestPartsOfTheCoreImportDownwards(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ from, to, says string }{
		{"placement", "executions", ""},
		{"views", "placement", ""},
		{"placement", "views", "within the core imports go down only, and views stands above placement"},
		{"executions", "state", "within the core imports go down only, and state stands above executions"},
		{"elsewhere", "step", "give it a place in the table parts of test/imports/rules.go"},
	} {
		if says := refuse("scheduler/core/"+tt.from, module+"/scheduler/core/"+tt.to); says != tt.says {
			t.Errorf("%s imports %s: %q, want %q", tt.from, tt.to, says, tt.says)
		}
	}
}

// A package that creates a Reader reads the core's state without the gate, and itself determines what may be seen.
func TestOnlyTheSchedulerMakesReaders(t *testing.T) {
	t.Parallel()
	makers := 0
	eachSource(t, func(path string) error {
		text, err := os.ReadFile(path)
		if !bytes.Contains(text, []byte("explain.NewReader")) {
			return err
		}
		if makers++; filepath.Dir(path) != filepath.Join(root, "scheduler") {
			t.Errorf("%s makes an explain.Reader: ask Scheduler.Read for one", path)
		}
		return nil
	})
	if makers != 1 {
		t.Errorf("%d files make Readers, want the one with Scheduler.Read", makers)
	}
}

// begins returns what a node does that a pure package must not do, or "".
func begins(n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "starts a goroutine"
	case *ast.SelectorExpr:
		if from, ok := n.X.(*ast.Ident); ok && from.Name == "time" &&
			slices.Contains([]string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker",
				"Sleep"}, n.Sel.Name) {
			return "asks a clock: time." + n.Sel.Name
		}
	}
	return ""
}

func TestWhatTheRulesRefuse(t *testing.T) {
	t.Parallel()
	const mesos = "github.com/mesos/mesos-go/api/v1/lib"
	// The rules on indirect imports need to know what each package imports.
	world := []pkg{
		{ImportPath: module + "/cluster/mesos", Imports: []string{mesos}, Deps: []string{mesos}},
		{ImportPath: mesos},
	}
	for name, tc := range map[string]struct {
		from    string
		imports string
		reaches string // in addition to imports
		want    string // a part of the only message; none if empty
	}{
		"down":                            {from: "api", imports: module + "/scheduler"},
		"down to an interface":            {from: "scheduler", imports: module + "/registry"},
		"to one's own part":               {from: "executor", imports: module + "/executor/pack"},
		"from a subpackage to its parent": {from: "registry/zookeeper", imports: module + "/registry"},
		"pure":                            {from: "scheduler/core", imports: "sync", want: "scheduler/core is pure"},
		"cmd puts together":               {from: "cmd/scheduler", imports: module + "/cluster/local"},
		"a closed package's part":         {from: "cmd/scheduler", imports: module + "/cluster/local/master", want: "its subpackages are private"},
		"a closed package's neighbour":    {from: "cluster/mesos", imports: module + "/cluster/local/link", want: "its subpackages are private"},
		"within a closed package":         {from: "cluster/local/agent", imports: module + "/cluster/local/link"},
		"a test's package":                {from: "test/whole", imports: module + "/cluster/local"},
		"up":                              {from: "internal/wire", imports: module + "/executor", want: "internal/wire imports executor: imports go down the layout only, and executor stands above internal/wire"},
		"from a part up":                  {from: "registry/embedded", imports: module + "/scheduler", want: "scheduler stands above registry"},
		"jobs know few":                   {from: "jobs", imports: module + "/internal/wire", want: "jobs imports no other package but jobs/cron, app, internal/document, internal/lease, internal/resources, internal/spelling"},
		"what executors import of jobs":   {from: "executor/daemon", imports: module + "/jobs", want: "jobs stands above executor"},
		"document knows few":              {from: "internal/document", imports: module + "/registry", want: "internal/document imports no other package but internal/spelling"},
		"spelling is below all":           {from: "internal/spelling", imports: module + "/internal/resources", want: "internal/resources stands above internal/spelling"},
		"offers know resources only":      {from: "offers", imports: module + "/cluster", want: "offers imports no other package but internal/resources"},
		"apps know no jobs":               {from: "app", imports: module + "/jobs", want: "jobs stands above app"},
		"only cmd puts together":          {from: "api", imports: module + "/registry/embedded", want: "only cmd/* puts packages together"},
		"executor and scheduler":          {from: "executor/pack", imports: module + "/scheduler", reaches: module + "/scheduler", want: "scheduler stands above executor"},
		"a library's home":                {from: "cluster", imports: mesos, want: "github.com/mesos/mesos-go is used in cluster/mesos, cluster/local, executor only"},
		"a library through a package":     {from: "scheduler/sim", imports: module + "/cluster/mesos", reaches: mesos, want: "scheduler/sim → cluster/mesos → " + mesos},
		"suites are for tests":            {from: "registry/embedded", imports: module + "/registry/registrytest", want: "imported by _test.go files only"},
		"examples stand for users":        {from: "examples/demo", imports: module + "/app", want: "import no package but sdk"},
		"examples are jobs, too":          {from: "examples/go-simple", imports: module + "/sdk"},
		"tools are no jobs":               {from: "tools/x", imports: module + "/sdk", want: "import no package but sdk"},
		"sdk brings nothing":              {from: "sdk", imports: module + "/internal/wire", want: "sdk imports no other package"},
		"sdk is for jobs":                 {from: "api", imports: module + "/sdk", want: "sdk stands above api"},
		"nothing of the tests' world":     {from: "api", imports: module + "/test/whole", want: "no package may import anything below"},
		"a package that has no place":     {from: "misc", imports: "fmt", want: "misc is not in the layout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deps := []string{tc.imports}
			if tc.reaches != "" {
				deps = append(deps, tc.reaches)
			}
			got := strings.Join(check(append([]pkg{{ImportPath: module + "/" + tc.from, Imports: []string{tc.imports},
				Deps: deps}}, world...)), "\n")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("check says %q, want %q", got, tc.want)
			}
		})
	}
}

// list returns every package of the module and all their dependencies.
func list(t *testing.T) []pkg {
	t.Helper()
	var packages []pkg
	out := goList(t, "-deps", "-json=ImportPath,Imports,Deps", "./...")
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatalf("read what go list says: %v", err)
		}
		packages = append(packages, p)
	}
}

// goList returns the output of go list in the repository.
func goList(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	cmd.Dir = root
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, complaints.String())
	}
	return out
}

// watch examines every source file, so that go test does not reuse a result of this test after one has changed: the
// go command does not know which files go list reads.
func watch(t *testing.T) {
	t.Helper()
	eachSource(t, func(path string) error {
		_, err := os.Stat(path)
		return err
	})
}

// eachSource calls look for every source file that is not a test.
func eachSource(t *testing.T, look func(path string) error) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return fs.SkipDir
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			return look(path)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("look at the sources: %v", err)
	}
}
