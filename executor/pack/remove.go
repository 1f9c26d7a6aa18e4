package pack

import (
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveTree removes a folder with all that is in it, also where a task has taken its own
// permissions away.
func RemoveTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // before it is read
		}
		return nil
	})
	return os.RemoveAll(dir)
}
