package wholefile

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func TestWriteJSON(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "kept.json")
	for _, content := range []string{"first", "second, which is longer", ""} {
		if err := WriteJSON(path, content); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		info, failed := os.Stat(path)
		if err != nil || failed != nil || string(got) != strconv.Quote(content) || info.Mode().Perm() != 0o600 {
			t.Errorf("%q, %v, %v, want %q for its owner", got, info, err, content)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left beside it: %v, %v", left, err)
	}
}

// TestWriteJSONThatFails checks that a failed write changes nothing, and leaves no temporary file.
func TestWriteJSONThatFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(path, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(path, "x"); err == nil {
		t.Error("a folder was replaced")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := WriteJSON(filepath.Join(dir, "none", "x"), nil); err == nil {
		t.Error("a folder that isn't there was written to")
	}
}
