package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// rootsDataDir is the default data folder of root. It is not in root's home folder, which is usually closed to the
// users that jobs run as.
const rootsDataDir = "/var/lib/elasticjob"

// defaultDataDir returns the data folder for servers and commands that name none.
func defaultDataDir() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "elasticjob")
	}
	own := ""
	if home, err := os.UserHomeDir(); err == nil {
		own = filepath.Join(home, ".local", "share", "elasticjob")
	}
	if uid := os.Geteuid(); uid == 0 {
		return dataDirOfRoot(own, rootsDataDir, uid)
	}
	return own
}

// dataDirOfRoot chooses between own, the folder in root's home, and shared. It returns own if an earlier release has
// created that folder, or if shared belongs to another user, for example to the service of deploy/systemd: that user
// could not use the folder any more after root has written to it.
func dataDirOfRoot(own, shared string, uid int) string {
	if own == "" {
		return shared
	}
	if _, err := os.Stat(own); err == nil {
		return own
	}
	if info, err := os.Stat(shared); err == nil {
		if of, known := info.Sys().(*syscall.Stat_t); known && int(of.Uid) != uid {
			return own
		}
	}
	return shared
}

// checkFolder returns why a folder cannot be written to or, if it is missing, cannot be created. It changes nothing,
// so a later write can still fail.
func checkFolder(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	for {
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%s is not a folder", path)
		case err == nil:
			return writable(path)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s is a link to a missing folder", path)
		}
		path = filepath.Dir(path)
	}
}

// writable returns why no file can be created in a folder.
func writable(folder string) error {
	// Access reports that root may write to procfs and sysfs, but no file can be created there.
	var system unix.Statfs_t
	if err := unix.Statfs(folder, &system); err == nil &&
		(system.Type == unix.PROC_SUPER_MAGIC || system.Type == unix.SYSFS_MAGIC) {
		return fmt.Errorf("%s belongs to the kernel and cannot hold other files", folder)
	}
	if err := unix.Access(folder, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("%s can't be written to: %w", folder, err)
	}
	return nil
}
