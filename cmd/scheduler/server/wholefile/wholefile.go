// Package wholefile writes files that nobody ever sees half of.
package wholefile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write makes a file with a content and a mode, or replaces the one that is there. On an error that one stays as it
// was.
func Write(path string, content []byte, mode os.FileMode) error {
	out, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	_, err = out.Write(content)
	if err = errors.Join(err, out.Chmod(mode), out.Sync(), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), path)
}
