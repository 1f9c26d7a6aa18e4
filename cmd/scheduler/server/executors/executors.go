// Package executors has the executor binaries that this server gives to agents.
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

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/wholefile"
)

// Executors are the executor binaries for the agents' fetcher, under names
// that hold their content: executor-<os>-<arch>-<sha256>. They are copies, so
// that a new build on disk changes nothing under a name, and executors that an
// earlier build described can still be fetched (rule X4).
type Executors struct {
	dir string
	own string // the name for agents of this platform
}

// The names of the executor for this platform. The shorter one counts where both are there: who may add files to the
// folder, but not replace those in it, changes nothing.
const (
	AnyName = "executor"
	OwnName = "executor-" + runtime.GOOS + "-" + runtime.GOARCH
)

// Folder is the folder of the executors that a flag names, by default that of this program.
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

// Find looks for executor and executor-<os>-<arch> in a folder, by
// default that of this program, and copies what is new into keep.
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
		return nil, fmt.Errorf("keep executors: %w", err)
	}
	programs, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("find the executor: %w; name its folder with --executor-dir", err)
	}
	a := &Executors{dir: keep}
	for _, file := range programs { // sorted by name: executor comes before the one that names this platform
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
			return nil, fmt.Errorf("keep the executor: %w", err)
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

// keepProgram writes a program unless it is there, whole: a disk may have lost some of it.
func keepProgram(path string, program []byte) error {
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, program) {
		return nil
	}
	return wholefile.Write(path, program, 0o755)
}

// URL is where agents fetch the executor for this platform from a server.
func (a *Executors) URL(server string) string { return server + "/artifacts/" + a.own }

// FileURL is where agents that are this process fetch it: from disk, for which they need trust no certificate.
func (a *Executors) FileURL() string { return (&url.URL{Scheme: "file", Path: a.Own()}).String() }

// File finds one by its name.
func (a *Executors) File(name string) (path string, ok bool) {
	if filepath.Base(name) != name || !strings.HasPrefix(name, "executor-") {
		return "", false
	}
	path = filepath.Join(a.dir, name)
	_, err := os.Stat(path)
	return path, err == nil
}

// Own is the file of the executor for this platform.
func (a *Executors) Own() string { return filepath.Join(a.dir, a.own) }
