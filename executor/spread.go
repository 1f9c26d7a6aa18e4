package executor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// topDirectory is FS_TOPDIR_FL (chattr +T). It makes the file system spread the folder's subdirectories over its
// block groups.
const topDirectory = 0x20000

// makeSpread creates a folder for many short-lived files, if it does not exist.
//
// When ext4 creates a file, it searches the block group of the folder for a free inode, and skips all inodes that were
// freed in the last minutes. In a folder with many short-lived files that takes up to a millisecond per file. So
// makeSpread lets the file system choose a block group with few other files for the folder and its files.
func makeSpread(parent, name string) error {
	path := filepath.Join(parent, name)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	defer markTop(parent)()
	// The file system also uses the name to choose the group.
	temporary, err := os.MkdirTemp(parent, name+"-")
	if err != nil {
		return err
	}
	return errors.Join(os.Chmod(temporary, 0o755), os.Rename(temporary, path))
}

// markTop sets the flag topDirectory on a folder, if its file system supports the flag, until reset is called.
func markTop(path string) (reset func()) {
	dir, err := os.Open(path)
	if err != nil {
		return func() {}
	}
	fd := int(dir.Fd())
	flags, err := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS)
	isSet := err == nil && flags&topDirectory == 0 && unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS,
		int(flags|topDirectory)) == nil
	return func() {
		if isSet {
			_ = unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, int(flags))
		}
		_ = dir.Close()
	}
}
