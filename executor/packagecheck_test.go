package executor_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// packed returns a tar.gz of files; names that end with * get the execute bit.
func packed(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for name, content := range files {
		mode := int64(0o644)
		if plain, ok := strings.CutSuffix(name, "*"); ok {
			name, mode = plain, 0o755
		}
		err := archive.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content))})
		if _, writeErr := archive.Write([]byte(content)); errors.Join(err, writeErr) != nil {
			t.Fatal(err, writeErr)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// serving serves the same content under every path.
func serving(t *testing.T, content []byte) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
			return
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestCheckPackage(t *testing.T) {
	t.Parallel()
	const script = "#!/bin/sh\nexit 0\n"
	good := packed(t, map[string]string{"bin/start.sh*": script, "conf": "x"})
	tests := []struct {
		name    string
		content []byte
		path    string
		check   executor.PackageCheck
		script  executor.ScriptFacts
		format  string
		problem string // the only one, with its field
	}{
		{"as it should be", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"bin/start.sh"}},
			executor.ScriptFacts{Path: "bin/start.sh", Found: true, Executable: true, Interpreter: "/bin/sh"},
			"tar.gz", ""},
		{"below one folder", packed(t, map[string]string{"app-1/bin/start.sh*": script}), "/p.tgz", executor.PackageCheck{Command: []string{"bin/start.sh", "-v"}},
			executor.ScriptFacts{Path: "app-1/bin/start.sh", Found: true, Executable: true, Interpreter: "/bin/sh"},
			"tar.gz", ""},
		{"a single script", []byte(script), "/job.sh", executor.PackageCheck{Command: []string{"job.sh"}},
			executor.ScriptFacts{Path: "job.sh", Found: true, Executable: true, Interpreter: "/bin/sh"}, "file", ""},
		{"a wrong name", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"bin/strat.sh"}},
			executor.ScriptFacts{Path: "bin/strat.sh"}, "tar.gz",
			"bootstrapScript: bin/strat.sh is not in the package; did you mean bin/start.sh?"},
		{"a wrong folder", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"start.sh"}},
			executor.ScriptFacts{Path: "start.sh"}, "tar.gz",
			"bootstrapScript: start.sh is neither in the package nor a program of this machine; did you mean bin/start.sh?"},
		{"nothing like it", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"bin/other"}},
			executor.ScriptFacts{Path: "bin/other"}, "tar.gz",
			"bootstrapScript: bin/other is not in the package, which holds bin/start.sh, conf: name one of its files"},
		{"out of it", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"../x"}},
			executor.ScriptFacts{Path: "../x"}, "tar.gz", "bootstrapScript: ../x leads out of the package"},
		{"no execute bit", packed(t, map[string]string{"a.sh": script}), "/p.tar.gz", executor.PackageCheck{Command: []string{"a.sh"}},
			executor.ScriptFacts{Path: "a.sh", Found: true, Interpreter: "/bin/sh"}, "tar.gz", ""},
		{"neither bit nor line", packed(t, map[string]string{"a.sh": "exit 0"}), "/p.tar.gz", executor.PackageCheck{Command: []string{"a.sh"}},
			executor.ScriptFacts{Path: "a.sh", Found: true}, "tar.gz",
			`bootstrapScript: command "a.sh" has no execute bit and doesn't begin with #!`},
		{"no first line", packed(t, map[string]string{"a.sh*": "exit 0"}), "/p.tar.gz", executor.PackageCheck{Command: []string{"a.sh"}},
			executor.ScriptFacts{Path: "a.sh", Found: true, Executable: true}, "tar.gz",
			"bootstrapScript: a.sh is neither a program nor a script that begins with #!"},
		{"from Windows", packed(t, map[string]string{"a.sh*": "#!/bin/sh\r\nexit 0\r\n"}), "/p.tar.gz", executor.PackageCheck{Command: []string{"a.sh"}},
			executor.ScriptFacts{Path: "a.sh", Found: true, Executable: true}, "tar.gz",
			"bootstrapScript: the first line of a.sh ends with a carriage return"},
		{"an interpreter of agents", packed(t, map[string]string{"a*": "#!/opt/none\n"}), "/p.tar.gz", executor.PackageCheck{Command: []string{"a"}},
			executor.ScriptFacts{Path: "a", Found: true, Executable: true, Interpreter: "/opt/none"}, "tar.gz", ""},
		{"an interpreter of this machine", packed(t, map[string]string{"a*": "#!/opt/none\n"}), "/p.tar.gz", executor.PackageCheck{Command: []string{"a"}, OfAgent: true},
			executor.ScriptFacts{Path: "a", Found: true, Executable: true, Interpreter: "/opt/none"}, "tar.gz",
			`bootstrapScript: the first line of a names "/opt/none", which is not on this machine`},
		{"a program of agents", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"java", "-jar", "x.jar"}},
			executor.ScriptFacts{Path: "java"}, "tar.gz", ""},
		{"a program of this machine", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"sh", "bin/start.sh"}, OfAgent: true},
			executor.ScriptFacts{Path: "sh", Found: true, Executable: true}, "tar.gz", ""},
		{"no program of this machine", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"no-such-program"}, OfAgent: true},
			executor.ScriptFacts{Path: "no-such-program"}, "tar.gz",
			"bootstrapScript: no-such-program is neither in the package nor a program of this machine, which holds"},
		{"a file of this machine", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"/bin/sh"}, OfAgent: true},
			executor.ScriptFacts{Path: "/bin/sh", Found: true, Executable: true}, "tar.gz", ""},
		{"no program", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"/etc/passwd"}, OfAgent: true},
			executor.ScriptFacts{Path: "/etc/passwd", Found: true}, "tar.gz",
			"bootstrapScript: /etc/passwd has no execute bit"},
		{"no file of this machine", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"/no/such"}, OfAgent: true},
			executor.ScriptFacts{Path: "/no/such"}, "tar.gz",
			"bootstrapScript: there is no file /no/such on this machine"},
		{"another sum", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"bin/start.sh"}, SHA256: strings.Repeat("0", 64)},
			executor.ScriptFacts{Path: "bin/start.sh", Found: true, Executable: true, Interpreter: "/bin/sh"},
			"tar.gz", "appSHA256: the package's sha256 is "},
		{"the right sum", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"bin/start.sh"}, SHA256: fmt.Sprintf("%X", sha256.Sum256(good))},
			executor.ScriptFacts{Path: "bin/start.sh", Found: true, Executable: true, Interpreter: "/bin/sh"},
			"tar.gz", ""},
		{"a page", []byte("<html>s3cret"), "/p.tar.gz?token=s3cret", executor.PackageCheck{Command: []string{"a"}},
			executor.ScriptFacts{Path: "a"}, "", "appURL: unpack http://"},
		{"a redirect to a file", good, "/gone", executor.PackageCheck{Command: []string{"a"}},
			executor.ScriptFacts{Path: "a"}, "", "appURL: fetch http://"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := tt.check
			c.URL, c.Folder = serving(t, tt.content)+tt.path, t.TempDir()
			facts, err := executor.CheckPackage(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if facts.Script != tt.script || facts.Format != tt.format {
				t.Errorf("%+v, format %s", facts.Script, facts.Format)
			}
			problem := ""
			for _, p := range facts.Problems {
				problem += p.Field + ": " + p.Message
			}
			if !strings.HasPrefix(problem, tt.problem) || tt.problem == "" && problem != "" ||
				len(facts.Problems) > 1 || strings.Contains(problem, "s3cret") {
				t.Errorf("%q", problem)
			}
			if left, err := os.ReadDir(c.Folder); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

func TestACheckListsFilesWithinBounds(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 1200 {
		files[fmt.Sprintf("f%04d", i)] = "x"
	}
	content := packed(t, files)
	facts, err := executor.CheckPackage(t.Context(),
		executor.PackageCheck{URL: serving(t, content) + "/p.tgz", Command: []string{"sh"}, Folder: t.TempDir()})
	if err != nil || facts.Total != 1200 || len(facts.Files) != 1000 || facts.Size != int64(len(content)) ||
		facts.SHA256 != fmt.Sprintf("%x", sha256.Sum256(content)) {
		t.Fatalf("%v: %d of %d files, %d bytes", err, len(facts.Files), facts.Total, facts.Size)
	}
	if facts.Files[999] != (pack.File{Name: "f0999", Size: 1}) ||
		!slices.IsSortedFunc(facts.Files, func(a, b pack.File) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("%+v", facts.Files[999])
	}
}

func TestAFileOfTheServerIsNoPackage(t *testing.T) {
	t.Parallel()
	hidden := t.TempDir()
	file := filepath.Join(hidden, "registry.db")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check := executor.PackageCheck{URL: "file://" + file, Command: []string{"registry.db"}, Folder: t.TempDir(),
		OfAgent: true}
	if facts, err := executor.CheckPackage(t.Context(), check); err != nil || len(facts.Problems) > 0 {
		t.Fatalf("%+v, %v", facts.Problems, err)
	}
	check.Hide = &isolation.Places{Folder: hidden}
	facts, err := executor.CheckPackage(t.Context(), check)
	if err != nil || len(facts.Problems) != 1 || !strings.Contains(facts.Problems[0].Message, "is hidden from jobs") ||
		facts.SHA256 != "" {
		t.Errorf("%+v, %v", facts, err)
	}
	check.Hide, check.OfAgent = nil, false
	facts, err = executor.CheckPackage(t.Context(), check)
	if err != nil || len(facts.Problems) != 1 ||
		!strings.Contains(facts.Problems[0].Message, "names a file of each agent") || facts.SHA256 != "" ||
		facts.Size != 0 {
		t.Errorf("where this machine is no agent: %+v, %v", facts, err)
	}
}

// TestAsRootACheckSeesWhatJobsSee: with --run-as, a check can't be used to find out which files only the server can
// see.
func TestAsRootACheckSeesWhatJobsSee(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	hidden := filepath.Join(t.TempDir(), "hidden")
	file := filepath.Join(hidden, "secret")
	if err := errors.Join(os.Mkdir(hidden, 0o700), os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	url := serving(t, packed(t, map[string]string{"a*": "#!" + file + "\n"})) + "/p.tar.gz"
	for command, want := range map[string]string{file: "there is no file " + file,
		"a": "which is not on this machine"} {
		facts, err := executor.CheckPackage(t.Context(),
			executor.PackageCheck{URL: url, Command: []string{command}, Folder: t.TempDir(), OfAgent: true,
				RunAs: &isolation.Account{Name: "nobody", UID: 65534, GID: 65534, Groups: []uint32{65534}}})
		if err != nil || len(facts.Problems) != 1 || !strings.Contains(facts.Problems[0].Message, want) ||
			command == file && facts.Script.Found {
			t.Errorf("%s: %+v, %v", command, facts, err)
		}
	}
}

func TestACheckEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	folder := t.TempDir()
	if _, err := executor.CheckPackage(ctx,
		executor.PackageCheck{URL: server.URL + "/p", Command: []string{"a"}, Folder: folder}); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
