package system

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// releaseFile is the file in its sandbox in which an executor of another release records its release. The path of its
// program would not show it, because that need not be in the folder of a release.
const releaseFile = "release"

// Release creates a folder for --executor-dir with an executor of another release.
func (b Binaries) Release(t testing.TB, name string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	program := fmt.Sprintf("#!/bin/sh\nprintf %%s '%s' >%s\nexec '%s' \"$@\"\n", name, releaseFile,
		filepath.Join(b.Dir, "executor"))
	if err := os.WriteFile(filepath.Join(dir, "executor"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// ReleaseOf returns the release of a sandbox's executor; empty for the one under test.
func ReleaseOf(sandbox string) string {
	name, _ := os.ReadFile(filepath.Join(sandbox, releaseFile)) // other executors do not write this file
	return string(name)
}
