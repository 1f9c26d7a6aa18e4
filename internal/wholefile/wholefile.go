// Package wholefile replaces files atomically.
package wholefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write durably creates or replaces a file with this content and mode. Until it is complete, only its owner can read
// it. Readers see either the old or the whole new content; on an error the old file is unchanged.
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
	if err := os.Rename(out.Name(), path); err != nil {
		return err
	}
	// The rename is durable only after the folder is synced.
	folder, err := os.Open(filepath.Dir(path))
	if errors.Is(err, fs.ErrPermission) {
		return nil // it can be written to, but not read
	}
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// WriteJSON writes value as JSON, in a file that only its owner can read.
func WriteJSON(path string, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return Write(path, content, 0o600)
}
