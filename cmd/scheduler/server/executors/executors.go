// Package executors provides the executor binaries that agents fetch from this server.
package executors

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/wholefile"
)

// Executors are copies of the executor binaries, for the agents' fetcher. Their names contain the hash of their
// content, executor-<os>-<arch>-<sha256>, so that a new build never changes the file behind a name, and agents can
// still fetch the executors that an earlier build described (rule X4).
type Executors struct {
	dir string
	own string // the name of the executor for this platform
}

// AnyName and OwnName are the names of the executor for this platform. If both files exist, AnyName is used, so that
// a user who can add files to the folder, but not replace any, cannot replace the executor.
const (
	AnyName = "executor"
	OwnName = "executor-" + runtime.GOOS + "-" + runtime.GOARCH
)

// Folder returns the absolute path of the folder that holds the executor binaries: named, or the folder of this
// program if named is empty.
func Folder(named string) (string, error) {
	if named == "" {
		self, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("find the executor: %w; name its folder with --executor-dir", err)
		}
		return filepath.Dir(self), nil
	}
	dir, err := filepath.Abs(named)
	if err != nil {
		return "", fmt.Errorf("find the executor: %w; name its folder with --executor-dir", err)
	}
	return dir, nil
}

// Find looks for executor and executor-<os>-<arch> in the folder dir (see Folder) and copies new ones into keep. It
// returns an error if there is none for this platform.
func Find(dir, keep string) (*Executors, error) {
	dir, err := Folder(dir)
	if err != nil {
		return nil, err
	}
	keep, err = filepath.Abs(keep)
	if err == nil {
		err = os.MkdirAll(keep, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("copy the executors: %w", err)
	}
	programs, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("find the executor: %w; name its folder with --executor-dir", err)
	}
	a := &Executors{dir: keep}
	for _, file := range programs { // sorted by name, so executor comes before the one that names this platform
		platform := file.Name()
		if platform == AnyName {
			platform = OwnName
		}
		isExecutor := strings.HasPrefix(platform, "executor-") && strings.Count(platform, "-") == 2
		if !isExecutor || platform == OwnName && a.own != "" {
			continue
		}
		program, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the executor: %w", err)
		}
		name := fmt.Sprintf("%s-%x", platform, sha256.Sum256(program))
		if err := keepProgram(filepath.Join(keep, name), program); err != nil {
			return nil, fmt.Errorf("copy the executor: %w", err)
		}
		if platform == OwnName {
			a.own = name
		}
	}
	if a.own == "" {
		return nil, fmt.Errorf("there is no executor in %s: build one there (make build), or name its folder with --executor-dir", dir)
	}
	return a, nil
}

// keepProgram writes a program unless the file has exactly this content. It compares the whole content because a
// crash may have truncated the file.
func keepProgram(path string, program []byte) error {
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, program) {
		return nil
	}
	return wholefile.Write(path, program, 0o755)
}

// URL returns the address at which agents fetch the executor for this platform from a server.
func (a *Executors) URL(server string) string { return server + "/artifacts/" + a.own }

// FileURL returns the same executor as a file: URL, for the agents in this process. They read it from disk and so
// need not trust this server's certificate.
func (a *Executors) FileURL() string { return (&url.URL{Scheme: "file", Path: a.Own()}).String() }

// File returns the path of the executor with this name. ok is false if there is none.
func (a *Executors) File(name string) (path string, ok bool) {
	if filepath.Base(name) != name || !strings.HasPrefix(name, "executor-") {
		return "", false
	}
	path = filepath.Join(a.dir, name)
	_, err := os.Stat(path)
	return path, err == nil
}

// Own returns the path of the executor for this platform.
func (a *Executors) Own() string { return filepath.Join(a.dir, a.own) }
