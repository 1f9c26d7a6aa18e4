package examples_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

const root = "../.."

var bin system.Binaries

func TestMain(m *testing.M) { os.Exit(system.Main(m, &bin, 8)) }

// reader is a user who follows a README, with a server, a clone of the repository, and a server for the files in
// examples/.
type reader struct {
	*system.Machine
	clone    string
	replacer *strings.Replacer
	env      []string
	tmp      string // stands for the README's /tmp
}

// follow returns a reader with everything that the examples need. It replaces the addresses and /tmp of the documents.
func follow(t *testing.T) *reader {
	t.Helper()
	t.Parallel()
	m := system.New(t, bin)
	m.Start()
	r := &reader{Machine: m, clone: filepath.Join(t.TempDir(), "clone"), tmp: t.TempDir()}
	for _, part := range []string{"go.mod", "go.sum", "sdk", "examples"} {
		copyTree(t, filepath.Join(root, part), filepath.Join(r.clone, part))
	}
	files := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(r.clone, "examples"))))
	t.Cleanup(files.Close)
	port, err := child.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	r.replacer = strings.NewReplacer("http://127.0.0.1:8899", m.URL(), "http://127.0.0.1:8080", files.URL,
		"127.0.0.1:8090", fmt.Sprint("127.0.0.1:", port[0]), "target.py &",
		fmt.Sprint("target.py ", port[0], " >said 2>&1 &"), "/tmp/", r.tmp+"/")
	// With these settings curl exits with a status for errors that documents' commands do not handle.
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".curlrc"), []byte("fail-with-body\nsilent\nshow-error\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS").Output()
	if err != nil {
		t.Fatal(err)
	}
	values := strings.Split(string(said), "\n")
	r.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GOTOOLCHAIN=local",
		"GOCACHE=" + values[0], "GOMODCACHE=" + values[1], "GOPROXY=" + values[2], "GOFLAGS=" + values[3]}
	return r
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, inside), 0o755)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, inside)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, text, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// block matches a block of commands in a README.
var block = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// blocks returns the blocks of commands in a document of the clone.
func (r *reader) blocks(document string) []string {
	r.Helper()
	text, err := os.ReadFile(filepath.Join(r.clone, document))
	if err != nil {
		r.Fatal(err)
	}
	return blocksOf(string(text))
}

func blocksOf(text string) (all []string) {
	for _, found := range block.FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}

// inGo returns the blocks of the section about Go in docs/write-a-job.md.
func (r *reader) inGo() []string {
	r.Helper()
	const document, title = "write-a-job.md", "Go, with the SDK"
	text, err := os.ReadFile(filepath.Join(root, "docs", document))
	if err != nil {
		r.Fatal(err)
	}
	_, from, found := strings.Cut(string(text), "\n## "+title+"\n")
	if !found {
		r.Fatalf("%s has no section %q", document, title)
	}
	section, _, _ := strings.Cut(from, "\n## ")
	return blocksOf(section)
}

// types runs lines of commands in a folder of the clone, and returns all that they write. The commands must succeed.
func (r *reader) types(folder, lines string) string {
	r.Helper()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", r.replacer.Replace(lines))
	cmd.Dir, cmd.Env = filepath.Join(r.clone, folder), r.env
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		r.Fatalf("%v: %s\nof\n%s", err, &said, lines)
	}
	return said.String()
}

// example types the first block of an example's README, waits until the run that it triggers has finished, and returns
// what the commands wrote and the run.
func (r *reader) example(name string) (said string, e system.Execution) {
	r.Helper()
	folder := filepath.Join("examples", name)
	said = r.types(folder, r.blocks(filepath.Join(folder, "README.md"))[0])
	return said, r.triggered(said)
}

var executionID = regexp.MustCompile(`\{"executionId":"([^"]+)"\}`)

// triggered waits until the run has finished whose id the answer to a trigger in said contains.
func (r *reader) triggered(said string) system.Execution {
	r.Helper()
	found := executionID.FindStringSubmatch(said)
	if found == nil {
		r.Fatalf("nothing was triggered: %s", said)
	}
	return r.Await(found[1], "FINISHED")
}

// wrote returns the output of a run's shards, in order.
func (r *reader) wrote(e system.Execution) string {
	r.Helper()
	var all strings.Builder
	for _, s := range e.Shards {
		all.WriteString(r.Logs(s.TaskID, ""))
	}
	return all.String()
}

// names returns the names of the files in a folder.
func names(t testing.TB, folder string) []string {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range files {
		all = append(all, f.Name())
	}
	return all
}
