// Package dist tests make dist as the maker of a release uses it: in clones, by checking the files in dist/.
package dist

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/reference"
)

const (
	root    = "../.."
	version = "v9.8.7"
)

// TestTwoBuildsOfACommitAreTheSame builds a release in two folders, by users with different habits, and compares the
// bytes. It then looks at one of them: checksums, SBOM, licences, and what the programs say they are.
func TestTwoBuildsOfACommitAreTheSame(t *testing.T) {
	t.Parallel()
	first, commit := clone(t)
	second, again := clone(t)
	if commit != again {
		t.Fatalf("the clones have different commits, %s and %s: the test compares builds of one", commit, again)
	}
	// The second user has a file that is in no commit, and permanent settings of go.
	if err := os.WriteFile(filepath.Join(second, "docs", "notes.md"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(settings, []byte("GOFIPS140=latest\nGOEXPERIMENT=nodwarf5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	built := makeDist(t, first, "TZ=UTC", "LC_ALL=C")
	for name, content := range makeDist(t, second, "TZ=Asia/Shanghai", "LC_ALL=C.UTF-8", "GOFLAGS=-buildvcs=true",
		"GOAMD64=v2", "GOENV="+settings) {
		if !bytes.Equal(built[name], content) {
			t.Errorf("%s is not the same in both builds: SHA-256 %x and %x", name, sha256.Sum256(built[name]),
				sha256.Sum256(content))
		}
	}
	name := "elasticjob-" + version + "-linux-" + runtime.GOARCH
	for _, file := range []string{name + ".tar.gz", name + ".cdx.json"} {
		if want := fmt.Sprintf("%x  %s\n", sha256.Sum256(built[file]),
			file); !strings.Contains(string(built["SHA256SUMS"]), want) {
			t.Errorf("SHA256SUMS does not have %q:\n%s", want, built["SHA256SUMS"])
		}
	}
	_, sums, _ := strings.Cut(reference.Block(t, root+"/docs/install.md", "make dist PLATFORMS="), "\n")
	check := exec.Command("sh", "-c", sums)
	check.Dir = first
	output(t, check)
	dir := unpack(t, built[name+".tar.gz"], name)
	programs, err := os.ReadDir(filepath.Join(root, "cmd"))
	if err != nil || len(programs) == 0 {
		t.Fatalf("the programs: %v, %v", programs, err)
	}
	for _, folder := range programs {
		program := folder.Name()
		said := output(t, exec.Command(filepath.Join(dir, program), "--version"))
		want := fmt.Sprintf("%s %s\ncommit %s\n%s\nlinux/%s\n", program, version, commit, runtime.Version(),
			runtime.GOARCH)
		if said != want {
			t.Errorf("%s --version says %q, want %q", program, said, want)
		}
	}
	bomNames(t, built[name+".cdx.json"], "std", "github.com/spf13/cobra", "github.com/gin-gonic/gin", "preact")
	licences := read(t, filepath.Join(dir, "THIRD-PARTY-LICENSES.txt"))
	for _, of := range []string{"std ", "github.com/gin-gonic/gin v", "modernc.org/sqlite v", "preact 1"} {
		if !strings.Contains(licences, "\n"+of) {
			t.Errorf("there is no licence of %s", of)
		}
	}
	for _, file := range []string{"LICENSE", "CHANGELOG.md", "README.md", "README.zh-CN.md", "docs/security.md",
		"deploy/prometheus/alerts.yml", "sbom.cdx.json"} {
		read(t, filepath.Join(dir, file))
	}
}

// clone creates a repository with the files that are tracked or could be, in one commit that depends only on these
// files.
func clone(t *testing.T) (dir, commit string) {
	t.Helper()
	dir = t.TempDir()
	skipped := []string{".git", "node_modules", "bin", "dist", "screenshots"}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case slices.Contains(skipped, entry.Name()) && filepath.Dir(name) != "test" && filepath.Dir(name) != "tools":
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(dir, name), 0o755)
		case !entry.Type().IsRegular():
			return nil
		}
		content, err := os.ReadFile(path)
		return errors.Join(err, os.WriteFile(filepath.Join(dir, name), content, 0o644))
	})
	if err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com",
			"-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
			"GIT_COMMITTER_DATE=2026-01-02T03:04:05Z", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		return strings.TrimSpace(output(t, cmd))
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "all")
	git("tag", version)
	return dir, git("rev-parse", "HEAD")
}

// makeDist builds for this machine's architecture, and returns all files of dist/.
func makeDist(t *testing.T, dir string, environment ...string) map[string][]byte {
	t.Helper()
	line, _, _ := strings.Cut(reference.Block(t, root+"/docs/install.md", "make dist PLATFORMS="), "\n")
	cmd := exec.Command("sh", "-c", strings.Replace(line, "linux/amd64", "linux/"+runtime.GOARCH, 1))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), environment...)
	output(t, cmd)
	files, err := os.ReadDir(filepath.Join(dir, "dist"))
	if err != nil || len(files) != 3 {
		t.Fatalf("dist/ has %v (%v), want an archive, its SBOM and SHA256SUMS", files, err)
	}
	built := map[string][]byte{}
	for _, file := range files {
		built[file.Name()] = []byte(read(t, filepath.Join(dir, "dist", file.Name())))
	}
	return built
}

// unpack unpacks an archive, all of whose files must be in a folder of this name, and returns the folder.
func unpack(t *testing.T, archive []byte, folder string) string {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for files := tar.NewReader(packed); ; {
		header, err := files.Next()
		if err == io.EOF {
			return filepath.Join(dir, folder)
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(header.Name, folder+"/") || header.Uid != 0 || header.Uname != "" ||
			header.ModTime.UTC().Format("2006-01-02T15:04:05") != "2026-01-02T03:04:05" {
			t.Errorf("the archive's %s belongs to user %d (%q) and has the time %s: want it in %s/, of user 0, without a name, and "+
				"with the commit's time",
				header.Name, header.Uid, header.Uname, header.ModTime, folder)
		}
		path := filepath.Join(dir, filepath.FromSlash(header.Name))
		content, err := io.ReadAll(files)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, content, header.FileInfo().Mode())); err != nil {
			t.Fatal(err)
		}
	}
}

func bomNames(t *testing.T, text []byte, want ...string) {
	t.Helper()
	var bom struct {
		Format     string `json:"bomFormat"`
		Spec       string `json:"specVersion"`
		Components []struct{ Name, Version, PURL string }
	}
	if err := json.Unmarshal(text, &bom); err != nil || bom.Format != "CycloneDX" || bom.Spec != "1.5" {
		t.Fatalf("the SBOM is %s %s (%v), want CycloneDX 1.5", bom.Format, bom.Spec, err)
	}
	named := map[string]bool{}
	for _, c := range bom.Components {
		if c.Version == "" || !strings.HasPrefix(c.PURL, "pkg:") || !strings.HasSuffix(c.PURL, "@"+c.Version) {
			t.Errorf("the SBOM's %s has version %q and package URL %q", c.Name, c.Version, c.PURL)
		}
		named[c.Name] = true
	}
	for _, name := range want {
		if !named[name] {
			t.Errorf("the SBOM does not name %s", name)
		}
	}
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, errors.Bytes())
	}
	return string(out)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
