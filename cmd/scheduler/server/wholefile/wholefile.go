// Package wholefile replaces files atomically.
package wholefile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write creates or replaces a file with this content and mode. Readers see either the old or the whole new content;
// on an error the old file is unchanged.
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
