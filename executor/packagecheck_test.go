package executor_test

import (
	"archive/tar"
	"archive/zip"
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

// serving serves the same content under every path except /gone, which redirects to a file: URL.
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
			"bootstrapScript: start.sh is not in the directory in which the command runs; did you mean bin/start.sh?"},
		{"nothing like it", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"bin/other"}},
			executor.ScriptFacts{Path: "bin/other"}, "tar.gz",
			"bootstrapScript: bin/other is not in the package, which holds bin/start.sh, conf: name one of its files"},
		{"out of it", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"../x"}},
			executor.ScriptFacts{Path: "../x"}, "tar.gz", "bootstrapScript: ../x leads out of the package"},
		{"no execute bit", packed(t, map[string]string{"a.sh": script}), "/p.tar.gz", executor.PackageCheck{Command: []string{"a.sh"}},
			executor.ScriptFacts{Path: "a.sh", Found: true, Interpreter: "/bin/sh"}, "tar.gz", ""},
		{"neither bit nor line", packed(t, map[string]string{"a.sh": "exit 0"}), "/p.tar.gz", executor.PackageCheck{Command: []string{"a.sh"}},
			executor.ScriptFacts{Path: "a.sh", Found: true}, "tar.gz",
			"bootstrapScript: a.sh has no execute bit and does not begin with #!: begin it with #!/bin/sh"},
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
			`bootstrapScript: the first line of a names "/opt/none", which is not on this agent: install it`},
		{"a program of agents", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"java", "-version"}},
			executor.ScriptFacts{Path: "java"}, "tar.gz", ""},
		{"a byte order mark", packed(t, map[string]string{"a.sh*": "\xef\xbb\xbf" + script}), "/p.tar.gz", executor.PackageCheck{Command: []string{"a.sh"}},
			executor.ScriptFacts{Path: "a.sh", Found: true, Executable: true}, "tar.gz",
			"bootstrapScript: a.sh begins with a byte order mark, before its first line"},
		{"a program of this machine", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"sh", "bin/start.sh"}, OfAgent: true},
			executor.ScriptFacts{Path: "sh", Found: true, Executable: true}, "tar.gz", ""},
		{"no program of this machine", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"no-such-program"}, OfAgent: true},
			executor.ScriptFacts{Path: "no-such-program"}, "tar.gz",
			"bootstrapScript: no-such-program is neither in the PATH of this agent (/usr/"},
		{"an interpreter that env can't find", packed(t, map[string]string{"a*": "#!/usr/bin/env nosuchpython\n"}), "/p.tar.gz", executor.PackageCheck{Command: []string{"a"}, OfAgent: true},
			executor.ScriptFacts{Path: "a", Found: true, Executable: true, Interpreter: "/usr/bin/env"}, "tar.gz",
			`bootstrapScript: the first line of a names "nosuchpython", which is not in the PATH of this agent (`},
		{"an archive", packed(t, map[string]string{"a*": "PK\x03\x04"}), "/p.tar.gz", executor.PackageCheck{Command: []string{"a"}},
			executor.ScriptFacts{Path: "a", Found: true, Executable: true}, "tar.gz",
			"bootstrapScript: a is an archive: name what runs it first"},
		{"a file of this machine", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"/bin/sh"}, OfAgent: true},
			executor.ScriptFacts{Path: "/bin/sh", Found: true, Executable: true}, "tar.gz", ""},
		{"no program", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"/etc/passwd"}, OfAgent: true},
			executor.ScriptFacts{Path: "/etc/passwd", Found: true}, "tar.gz",
			"bootstrapScript: /etc/passwd has no execute bit"},
		{"no file of this machine", good, "/p.tar.gz", executor.PackageCheck{Command: []string{"/no/such"}, OfAgent: true},
			executor.ScriptFacts{Path: "/no/such"}, "tar.gz",
			"bootstrapScript: there is no file /no/such on this agent"},
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
				t.Errorf("script %+v, format %s; want %+v, %s", facts.Script, facts.Format, tt.script, tt.format)
			}
			problem := ""
			for _, p := range facts.Problems {
				problem += p.Field + ": " + p.Message
			}
			if !strings.HasPrefix(problem, tt.problem) || tt.problem == "" && problem != "" ||
				len(facts.Problems) > 1 || strings.Contains(problem, "s3cret") {
				t.Errorf("problems %q, want %q", problem, tt.problem)
			}
			if left, err := os.ReadDir(c.Folder); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

// TestACheckLooksAtEveryWord: a check also finds missing files that a command names after its first word.
func TestACheckLooksAtEveryWord(t *testing.T) {
	t.Parallel()
	const script = "#!/bin/sh\nexit 0\n"
	flat := map[string]string{"bin/start.sh*": script, "bin/plain.sh": script, "bin/dos.sh*": "#!/bin/sh\r\nexit 0\r\n",
		"bin/bom.sh*": "\xef\xbb\xbf" + script, "x.py": "#!/usr/bin/python3\r\n", "lib/x.jar": "PK", "conf/app.yml": "x",
		"bin/empty*": ""}
	top := map[string]string{"my-job/main.py": "x", "my-job/lib/x.jar": "PK", "my-job/run.sh": script}
	two := map[string]string{"my-job/main.py": "x", "my-job/conf/app.yml": "x", "README": "x"}
	for _, tt := range []struct {
		files   map[string]string
		command string
		want    string // part of the only problem
	}{
		{flat, "java -jar lib/x.jar", ""},
		{flat, "java -Xmx1g -jar x.jar go", "x.jar is not in the package; did you mean lib/x.jar?"},
		{flat, "java -jar other.jar", "other.jar is not in the package, which holds"},
		{flat, "java -jar lib/y.jar", "lib/y.jar is not in the package; did you mean lib/x.jar?"},
		{flat, "java -cp conf:lib/*:lib/x.jar Main", ""},
		{flat, "java -cp conf:lib/none.jar Main", "lib/none.jar is not in the package"},
		{flat, "java --class-path=gone.jar Main", "gone.jar is not in the package"},
		{flat, "java -javaagent:agent.jar=x -jar lib/x.jar", "agent.jar is not in the package"},
		{flat, "python3 x.py", ""},
		{flat, "python3 -u -W ignore y.py", "y.py is not in the package; did you mean x.py?"},
		{flat, "python3 -m x.y", ""},
		{flat, "python3.11 z/job.py", "z/job.py is not in the package"},
		{flat, "node server.js", "server.js is not in the package"},
		{flat, "sh bin/start.sh", ""},
		{flat, "sh bin/plain.sh -x no/such/file", ""},
		{flat, "bash -eu bin/dos.sh", "the first line of bin/dos.sh ends with a carriage return"},
		{flat, "sh bin/bom.sh", "bin/bom.sh begins with a byte order mark"},
		{flat, "sh bin/strat.sh", "bin/strat.sh is not in the package; did you mean bin/start.sh?"},
		{flat, "sh bin", "bin is a directory"},
		{flat, "timeout -k 5 60 bin/plain.sh", "bin/plain.sh has no execute bit"},
		{flat, "env A=b nice -n 5 bin/start.sh", ""},
		{flat, "busybox sh bin/bom.sh", "bin/bom.sh begins with a byte order mark"},
		{flat, "nohup bin/none.sh", "bin/none.sh is not in the package"},
		{flat, "nice bin/empty", "bin/empty is empty"},
		{flat, "bin/start.sh bin/dos.sh", "the first line of bin/dos.sh ends with a carriage return"},
		{flat, "sh -c 'A=1 python3 y.py >> out.txt && echo a/b'", "y.py is not in the package"},
		{flat, "sh -c 'bin/plain.sh | tee log'", "bin/plain.sh has no execute bit"},
		{flat, "sh -c 'cd bin && ./start.sh'", ""},
		{flat, "bin/start.sh --config=conf/app.yml out/report.csv text/plain", ""},
		{top, "timeout 60 run.sh", "run.sh is a file of the package, in which programs are not searched: name it ./run.sh"},
		{top, "python3 main.py", ""},
		{top, "python3 my-job/main.py", "the command runs in my-job, the only directory at the package's top, so name the file main.py"},
		{top, "java -jar my-job/lib/x.jar", "so name the file lib/x.jar"},
		{top, "sh my-job/run.sh", "so name the file run.sh"},
		{two, "python3 main.py", "main.py is not in the package; did you mean my-job/main.py?"},
		{two, "python3 my-job/main.py --config conf/app.yml", "conf/app.yml is not in the directory in which the command runs; did you mean my-job/conf/app.yml?"},
	} {
		t.Run(tt.command, func(t *testing.T) {
			t.Parallel()
			command := strings.Fields(tt.command)
			if _, script, ok := strings.Cut(tt.command, "sh -c '"); ok {
				command = []string{"sh", "-c", strings.TrimSuffix(script, "'")}
			}
			facts, err := executor.CheckPackage(t.Context(), executor.PackageCheck{
				URL: serving(t, packed(t, tt.files)) + "/p.tar.gz", Command: command, Folder: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" && len(facts.Problems) == 0 {
				return
			}
			if len(facts.Problems) != 1 || !strings.Contains(facts.Problems[0].Message, tt.want) || tt.want == "" {
				t.Errorf("problems %q, want %q", facts.Problems, tt.want)
			}
		})
	}
}

// TestACheckOfLinksAndWholeArchives: a check does not follow absolute links, and keeps an archive that the command
// names whole.
func TestACheckOfLinksAndWholeArchives(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("#!/hush\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var venv bytes.Buffer
	archive := tar.NewWriter(&venv)
	for name, to := range map[string]string{"bin/python3": secret, "bin/python": "python3"} {
		if err := archive.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.WriteHeader(&tar.Header{Name: "job.py", Mode: 0o644}), archive.Close()); err != nil {
		t.Fatal(err)
	}
	var jar bytes.Buffer
	zipped := zip.NewWriter(&jar)
	if _, err := zipped.Create("Main.class"); err != nil || zipped.Close() != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		content []byte
		file    string
		command []string
		want    executor.ScriptFacts
		files   []pack.File
	}{
		{venv.Bytes(), "/venv.tar", []string{"bin/python", "job.py"},
			executor.ScriptFacts{Path: "bin/python", Found: true, Executable: true},
			[]pack.File{{Name: "bin/python"}, {Name: "bin/python3"}, {Name: "job.py"}}},
		{jar.Bytes(), "/app.jar", []string{"java", "-jar", "app.jar"}, executor.ScriptFacts{Path: "java"},
			[]pack.File{{Name: "app.jar", Size: int64(jar.Len()), Executable: true}}},
		{jar.Bytes(), "/app.jar", []string{"java", "-cp", ".", "Main"}, executor.ScriptFacts{Path: "java"},
			[]pack.File{{Name: "Main.class"}}},
	} {
		facts, err := executor.CheckPackage(t.Context(), executor.PackageCheck{URL: serving(t, tt.content) + tt.file,
			Command: tt.command, Folder: t.TempDir()})
		if err != nil || len(facts.Problems) > 0 || facts.Script != tt.want || !slices.Equal(facts.Files, tt.files) {
			t.Errorf("%q: %+v, %v", tt.command, facts, err)
		}
	}
}

// TestACheckOfAWrongName: a check suggests the name that was probably meant, even if the package is that file, and even
// if the program that reads it is missing.
func TestACheckOfAWrongName(t *testing.T) {
	t.Parallel()
	var jar bytes.Buffer
	zipped := zip.NewWriter(&jar)
	if _, err := zipped.Create("Main.class"); err != nil || zipped.Close() != nil {
		t.Fatal(err)
	}
	inFolder := packed(t, map[string]string{"lib/app.jar": "PK", "main.py": "x"})
	for command, test := range map[string]struct {
		content []byte
		file    string
		want    []string
	}{
		"java -jar ap.jar":            {jar.Bytes(), "/app.jar", []string{"ap.jar is not in the package; did you mean app.jar, the package itself?"}},
		"java -jar lib/app.jar":       {jar.Bytes(), "/app.jar", []string{"lib/app.jar is not in the package; did you mean app.jar, the package itself?"}},
		"java -jar lib/ap.jar":        {inFolder, "/p.tar.gz", []string{"lib/ap.jar is not in the package; did you mean lib/app.jar?"}},
		"java -jar app.jar":           {inFolder, "/app.tar", []string{"app.jar is not in the package; did you mean lib/app.jar?"}},
		"nosuchpython3 -u --x main.y": {inFolder, "/p.tar.gz", []string{"nosuchpython3 is neither in the PATH of this agent (/usr/"}},
		"timeout 5 java -jar ap.jar":  {inFolder, "/p.tar.gz", []string{"ap.jar is not in the package; did you mean lib/app.jar?"}},
	} {
		for _, ofAgent := range []bool{false, true} {
			facts, err := executor.CheckPackage(t.Context(),
				executor.PackageCheck{URL: serving(t, test.content) + test.file,
					Command: strings.Fields(command), Folder: t.TempDir(), OfAgent: ofAgent})
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				known := ofAgent || !strings.HasPrefix(want, "nosuchpython3")
				if slices.ContainsFunc(facts.Problems, func(p executor.PackageProblem) bool {
					return strings.HasPrefix(p.Message, want)
				}) != known {
					t.Errorf("%s, of an agent %t: %q, want %q", command, ofAgent, facts.Problems, want)
				}
			}
		}
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
		t.Errorf("the last listed file is %+v, or the files are not sorted", facts.Files[999])
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
