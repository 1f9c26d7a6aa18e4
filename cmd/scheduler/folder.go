package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// checkFolder says why a folder can't be written to, or can't be made where it is missing. It changes nothing, and so
// is no promise.
func checkFolder(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	for {
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%s is no folder", path)
		case err == nil:
			return writable(path)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s is a link to what is not there", path)
		}
		path = filepath.Dir(path)
	}
}

// writable says why nothing can be made in a folder.
func writable(folder string) error {
	// There the superuser may do anything, and still can make nothing; others get the same error.
	var system unix.Statfs_t
	if err := unix.Statfs(folder, &system); err == nil &&
		(system.Type == unix.PROC_SUPER_MAGIC || system.Type == unix.SYSFS_MAGIC) {
		return fmt.Errorf("%s is the kernel's, and holds no files of others", folder)
	}
	if err := unix.Access(folder, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("%s can't be written to: %w", folder, err)
	}
	return nil
}
