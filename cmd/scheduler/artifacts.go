package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// artifacts serves the executor binaries to the agents' fetcher, under names
// that hold their content: executor-<os>-<arch>-<sha256>. They are copies, so
// that a new build on disk changes nothing under a name, and executors that an
// earlier build described can still be fetched (rule X4).
type artifacts struct {
	dir string
	own string // the name for agents of this platform
}

// findExecutors looks for executor and executor-<os>-<arch> in a folder, by
// default that of this program, and copies what is new into keep.
func findExecutors(dir, keep string) (*artifacts, error) {
	if dir == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find the executor: %w; name its folder with --executor-dir", err)
		}
		dir = filepath.Dir(self)
	}
	own := "executor-" + runtime.GOOS + "-" + runtime.GOARCH
	a := &artifacts{dir: keep}
	if err := os.MkdirAll(keep, 0o700); err != nil {
		return nil, fmt.Errorf("keep executors: %w", err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "executor-*-*"))
	if err != nil {
		return nil, fmt.Errorf("find the executor in %s: %w", dir, err)
	}
	for platform, path := range candidates(dir, own, found) {
		program, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the executor: %w", err)
		}
		name := fmt.Sprintf("%s-%x", platform, sha256.Sum256(program))
		if err := keepProgram(filepath.Join(keep, name), program); err != nil {
			return nil, fmt.Errorf("keep the executor: %w", err)
		}
		if platform == own {
			a.own = name
		}
	}
	if a.own == "" {
		return nil, fmt.Errorf("there is no executor in %s: build one there (make build), or name its folder with --executor-dir", dir)
	}
	return a, nil
}

func candidates(dir, own string, found []string) map[string]string {
	out := map[string]string{own: filepath.Join(dir, "executor")}
	for _, path := range found {
		if name := filepath.Base(path); strings.Count(name, "-") == 2 {
			out[name] = path
		}
	}
	return out
}

// keepProgram writes a program unless it is there, whole: a disk may have lost some of it.
func keepProgram(path string, program []byte) error {
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, program) {
		return nil
	}
	out, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	_, err = out.Write(program)
	if err = errors.Join(err, out.Chmod(0o755), out.Sync(), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), path)
}

// ServeHTTP serves /artifacts/{name}.
func (a *artifacts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/artifacts/")
	if !a.has(name) {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Cache-Control", "public, immutable, max-age=31536000")
	http.ServeFile(w, r, filepath.Join(a.dir, name))
}

// has reports whether there is an artifact of that name here.
func (a *artifacts) has(name string) bool {
	if filepath.Base(name) != name || !strings.HasPrefix(name, "executor-") {
		return false
	}
	_, err := os.Stat(filepath.Join(a.dir, name))
	return err == nil
}
