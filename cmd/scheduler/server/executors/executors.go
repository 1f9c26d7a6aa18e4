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

// Executors are copies of the executor binaries, for the agents' fetcher. A copy has the name
// executor-<os>-<arch>-<sha256>, with the hash of its content. So a new build never changes the file with a name, and
// agents can still fetch the executors of an earlier build (rule X4).
type Executors struct {
	dir string
	own string // the name of the executor for this platform
}

// AnyName and OwnName are the names of the executor for this platform. If both files exist, AnyName is used. A user
// who can add files to the folder, but not replace any, then cannot replace the executor.
const (
	AnyName = "executor"
	OwnName = "executor-" + runtime.GOOS + "-" + runtime.GOARCH
)

// Folder returns the absolute path of the folder with the executor binaries: dir, or the folder of this program if dir
// is empty.
func Folder(dir string) (string, error) {
	if dir == "" {
		self, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("find the executor: %w; name its folder with --executor-dir", err)
		}
		return filepath.Dir(self), nil
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the executor: %w; name its folder with --executor-dir", err)
	}
	return absolute, nil
}

// Find copies the executors in the folder dir (see Folder), which are named executor and executor-<os>-<arch>, into
// the folder copies. It returns an error if there is no executor for this platform.
func Find(dir, copies string) (*Executors, error) {
	dir, err := Folder(dir)
	if err != nil {
		return nil, err
	}
	copies, err = filepath.Abs(copies)
	if err == nil {
		err = os.MkdirAll(copies, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("copy the executors: %w", err)
	}
	programs, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("find the executor: %w; name its folder with --executor-dir", err)
	}
	a := &Executors{dir: copies}
	for _, file := range programs { // sorted by name, so AnyName comes before OwnName
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
		if err := writeProgram(filepath.Join(copies, name), program); err != nil {
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

// writeProgram writes a program, unless the file already has this content. It compares the whole content, because a
// crash may have truncated the file.
func writeProgram(path string, program []byte) error {
	if content, err := os.ReadFile(path); err == nil && bytes.Equal(content, program) {
		return nil
	}
	return wholefile.Write(path, program, 0o755)
}

// URL returns the URL from which agents fetch the executor for this platform. server is the URL of this server.
func (a *Executors) URL(server string) string { return server + "/artifacts/" + a.own }

// FileURL returns the file: URL of the executor for this platform, for the agent in this process. The agent reads the
// file from disk, and so need not trust this server's certificate.
func (a *Executors) FileURL() string { return (&url.URL{Scheme: "file", Path: a.Own()}).String() }

// File returns the path of the executor with this name, or false if there is none.
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
