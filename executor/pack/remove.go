package pack

import (
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveTree removes a folder with its content, even if a task has removed its own permissions.
func RemoveTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // must be done before the folder can be read
		}
		return nil
	})
	return os.RemoveAll(dir)
}
