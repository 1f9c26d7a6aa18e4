package pack

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveTree removes a folder with its content, even if a task has removed its own permissions.
func RemoveTree(dir string) error {
	root, err := os.OpenRoot(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return RemoveBelow(root, filepath.Base(dir))
}

// RemoveBelow is RemoveTree for a folder below root. It does not follow a link out of root.
func RemoveBelow(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if err == nil {
		return nil
	}
	_ = fs.WalkDir(root.FS(), name, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = root.Chmod(path, 0o700) // before WalkDir reads the folder
		}
		return nil
	})
	return root.RemoveAll(name)
}
