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

// rootsDataDir is the default data folder of root: jobs that run as another user could not reach one in root's home
// folder, which is closed to others nearly everywhere.
const rootsDataDir = "/var/lib/elasticjob"

// defaultDataDir is the data folder of servers and commands that name none.
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

// dataDirOfRoot chooses between the folder in root's home and the one that all can reach. The one at home stays in
// use where an earlier release has made it, and where the other one belongs to another user: to a service, such as
// that of deploy/systemd, which could not use it any more once root had written to it.
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
