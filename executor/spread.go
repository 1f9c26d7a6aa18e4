package executor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// topDirectory is FS_TOPDIR_FL, chattr +T: the allocator spreads the folder's subdirectories over the block groups.
const topDirectory = 0x20000

// makeSpread makes a folder for many short-lived files, if it isn't there.
//
// When ext4 makes a file, it looks for an inode in the folder's block group, one by one, past all that were freed
// in the last minutes: where many files come and go, up to a millisecond for each. So such a folder gets a
// group where few others are, for itself and all that will be made in it.
func makeSpread(parent, name string) error {
	path := filepath.Join(parent, name)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	defer markTop(parent)()
	// The group is chosen by the name too.
	temporary, err := os.MkdirTemp(parent, name+"-")
	if err != nil {
		return err
	}
	return errors.Join(os.Chmod(temporary, 0o755), os.Rename(temporary, path))
}

// markTop sets the mark on a folder, where there is such a thing, until reset is called.
func markTop(path string) (reset func()) {
	dir, err := os.Open(path)
	if err != nil {
		return func() {}
	}
	fd := int(dir.Fd())
	flags, err := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS)
	set := err == nil && flags&topDirectory == 0 && unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS,
		int(flags|topDirectory)) == nil
	return func() {
		if set {
			_ = unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, int(flags))
		}
		_ = dir.Close()
	}
}
