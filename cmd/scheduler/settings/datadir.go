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

// rootsDataDir is the default data folder of root. It is not in root's home folder, because other users, as whom
// root's server runs jobs, usually cannot pass through that folder.
const rootsDataDir = "/var/lib/elasticjob"

// defaultDataDir returns the default of --data-dir, or "" if the user has no home folder. It requires no home folder
// for root, or if XDG_DATA_HOME is set.
func defaultDataDir() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "elasticjob")
	}
	inHome := ""
	if home, err := os.UserHomeDir(); err == nil {
		inHome = filepath.Join(home, ".local", "share", "elasticjob")
	}
	if uid := os.Geteuid(); uid == 0 {
		return dataDirOfRoot(inHome, rootsDataDir, uid)
	}
	return inHome
}

// dataDirOfRoot chooses between inHome, which is in root's home folder, and shared. It returns inHome if that folder
// exists, because an earlier release has created it. It also returns inHome if shared belongs to another user, for
// example to the service of deploy/systemd: if root wrote into shared, that user could no longer use it.
func dataDirOfRoot(inHome, shared string, uid int) string {
	if inHome == "" {
		return shared
	}
	if _, err := os.Stat(inHome); err == nil {
		return inHome
	}
	if info, err := os.Stat(shared); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != uid {
			return inHome
		}
	}
	return shared
}

// checkFolder returns an error if no file can be created in a folder. If the folder does not exist, it returns an error
// if the folder cannot be created. It changes nothing, so a later write may still fail.
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
			return checkWritable(path)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s is a link to a missing folder", path)
		}
		path = filepath.Dir(path)
	}
}

// checkWritable returns an error if no file can be created in a folder.
func checkWritable(folder string) error {
	// For root, the system call access permits writing to procfs and sysfs, but no file can be created there.
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
