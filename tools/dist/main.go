// Command dist builds the archives of a release: for each platform the programs, the files that they need and the
// licences of everything in them, with an SBOM and checksums. The output depends only on the commit and on Go's
// version: two builds of a commit are identical, byte for byte, on all machines.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// release describes a build: the files below root, the version, and the commit with its time.
type release struct {
	root, out       string
	version, commit string
	time            time.Time
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run() error {
	var r release
	flag.StringVar(&r.root, "root", ".", "folder of the repository")
	flag.StringVar(&r.version, "version", "", "version of the release, from git")
	flag.StringVar(&r.commit, "commit", "", "its commit")
	flag.Parse()
	if r.version == "" || r.commit == "" || flag.NArg() == 0 {
		return errors.New("usage: dist -root DIR -version VERSION -commit COMMIT OS/ARCH…: make dist does that")
	}
	var err error
	if r.root, err = filepath.Abs(r.root); err != nil {
		return err
	}
	if r.time, err = commitTime(r.root); err != nil {
		return err
	}
	r.out = filepath.Join(r.root, "dist")
	if err := os.RemoveAll(r.out); err != nil {
		return fmt.Errorf("remove what an earlier run has built: %w", err)
	}
	if err := os.Mkdir(r.out, 0o755); err != nil {
		return err
	}
	for _, platform := range flag.Args() {
		if err := r.build(platform); err != nil {
			return fmt.Errorf("build for %s: %w", platform, err)
		}
	}
	return r.sum()
}

// commitTime returns the time of the commit: SOURCE_DATE_EPOCH, or what git reports.
func commitTime(root string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		git := exec.Command("git", "log", "-1", "--format=%ct")
		git.Dir = root
		out, err := git.Output()
		if err != nil {
			return time.Time{}, fmt.Errorf(
				"ask git for the time of the commit: %w; outside of a clone set SOURCE_DATE_EPOCH to it", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %q: must be seconds since 1970", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// build creates the archive and the SBOM of a platform.
func (r release) build(platform string) error {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return errors.New("a platform is OS/ARCH, such as linux/amd64")
	}
	programs, err := r.programs(system)
	if err != nil {
		return err
	}
	if len(programs) == 0 {
		fmt.Fprintf(os.Stderr, "dist: nothing for %s: only the client is built for it, and there is no cmd/elasticjob\n", platform)
		return nil
	}
	bin, err := os.MkdirTemp("", "elasticjob-dist-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	if err := r.compile(bin, system, arch, programs); err != nil {
		return err
	}
	linked, err := linkedModules(bin, programs)
	if err != nil {
		return err
	}
	licences, err := r.licences(linked, programs, system, arch)
	if err != nil {
		return err
	}
	bom, err := r.sbom(platform, linked)
	if err != nil {
		return err
	}
	a := archive{time: r.time, name: fmt.Sprintf("elasticjob-%s-%s-%s", r.version, system, arch)}
	for _, program := range programs {
		a.file(program, filepath.Join(bin, program), 0o755)
	}
	a.text("THIRD-PARTY-LICENSES.txt", licences)
	a.text("sbom.cdx.json", bom)
	if err := r.documents(&a, system); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.out, a.name+".cdx.json"), bom, 0o644); err != nil {
		return err
	}
	return a.write(filepath.Join(r.out, a.name+".tar.gz"))
}

// programs returns the programs for an operating system: all of them for Linux, and only the client for others.
func (r release) programs(system string) ([]string, error) {
	folders, err := os.ReadDir(filepath.Join(r.root, "cmd"))
	var names []string
	for _, folder := range folders {
		if folder.IsDir() && (system == "linux" || folder.Name() == "elasticjob") {
			names = append(names, folder.Name())
		}
	}
	return names, err
}

// documents adds the documents that accompany the programs: the licence and the changelog, and with a server all
// documents and deployment files.
func (r release) documents(a *archive, system string) error {
	names := []string{"LICENSE", "CHANGELOG.md"}
	if system == "linux" {
		names = append(names, "README.md", "README.zh-CN.md", "docs/*.md", "deploy/*", "deploy/*/*")
	}
	tracked, err := r.tracked()
	if err != nil {
		return err
	}
	for _, pattern := range names {
		found, err := filepath.Glob(filepath.Join(r.root, pattern))
		if err != nil || len(found) == 0 {
			return errors.Join(fmt.Errorf("there is no %s", pattern), err)
		}
		for _, path := range found {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(r.root, path)
			if name = filepath.ToSlash(name); err == nil && info.Mode().IsRegular() && tracked(name) {
				a.file(name, path, 0o644)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// tracked returns a function that reports whether a file belongs to the commit. Without git, as in the build of an
// image, it returns true for all files.
func (r release) tracked() (func(name string) bool, error) {
	if _, err := os.Stat(filepath.Join(r.root, ".git")); errors.Is(err, fs.ErrNotExist) {
		return func(string) bool { return true }, nil
	}
	git := exec.Command("git", "ls-files", "-z")
	git.Dir = r.root
	out, err := git.Output()
	if err != nil {
		return nil, fmt.Errorf("ask git for the files of the commit: %w", err)
	}
	names := strings.Split(string(out), "\x00")
	return func(name string) bool { return slices.Contains(names, name) }, nil
}

// sum writes SHA256SUMS in the format of sha256sum -c.
func (r release) sum() error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var sums []string
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(r.out, file.Name()))
		if err != nil {
			return err
		}
		sums = append(sums, fmt.Sprintf("%x  %s\n", sha256.Sum256(content), file.Name()))
		fmt.Printf("dist/%s\n", file.Name())
	}
	if len(sums) == 0 {
		return errors.New("nothing was built for these platforms")
	}
	slices.Sort(sums)
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(strings.Join(sums, "")), 0o644)
}
