package system

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// releaseFile is where an executor of another release says which it is, in its sandbox: its program may be in no
// folder.
const releaseFile = "release"

// Release makes a folder with an executor of another release, for --executor-dir.
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

// ReleaseOf is the release of a sandbox's executor, empty for the one that is tested.
func ReleaseOf(sandbox string) string {
	name, _ := os.ReadFile(filepath.Join(sandbox, releaseFile)) // no other executor has made one
	return string(name)
}
