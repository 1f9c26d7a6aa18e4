package executor

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMakeSpread: makeSpread creates a folder once, with the usual mode, and leaves the flags of its parent as they
// were.
func TestMakeSpread(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	flags := func() uint32 {
		dir, err := os.Open(parent)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = dir.Close() }()
		flags, _ := unix.IoctlGetUint32(int(dir.Fd()), unix.FS_IOC_GETFLAGS) // 0 if the file system has none
		return flags
	}
	before := flags()
	for range 2 { // the second time the folder exists
		if err := makeSpread(parent, "many"); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(parent)
	if err != nil || len(entries) != 1 || entries[0].Name() != "many" {
		t.Errorf("made %v, %v", entries, err)
	}
	if info, err := os.Stat(filepath.Join(parent, "many")); err != nil || info.Mode() != os.ModeDir|0o755 {
		t.Errorf("%v, %v", info, err)
	}
	if after := flags(); after != before {
		t.Errorf("flags of the parent were %x and are %x", before, after)
	}
	if err := makeSpread(filepath.Join(parent, "none"), "many"); err == nil {
		t.Error("made in a folder that isn't there")
	}
}
