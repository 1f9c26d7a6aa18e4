// Package wholefile replaces files as a whole, so that neither a crash nor a full disk leaves a partial file.
package wholefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write durably creates or replaces a file with this content and mode. Readers see either the old or the whole new
// content. After an error the file is unchanged, except that an error of the folder's sync leaves the new content,
// which a crash may undo.
func Write(path string, content []byte, mode os.FileMode) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // only its owner can read it
	if err != nil {
		return err
	}
	_, err = temp.Write(content)
	if err = errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	if err := SyncFolder(filepath.Dir(path)); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil // a folder that may be written to but not read can't be synced
}

// WriteJSON durably writes a value to a file as JSON that only its owner can read.
func WriteJSON(path string, value any) error {
	content, err := json.Marshal(value)
	if err == nil {
		err = Write(path, content, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// SyncFolder makes the names of the files in a folder durable.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
