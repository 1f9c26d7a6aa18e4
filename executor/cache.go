package executor

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// cacheFolder returns the folder for packages of the user with this uid. It is in the agent's work folder, so that all
// executors of a user on the agent share it, and so that it is in the file system of the sandboxes. If the sandbox's
// path does not have the form that Mesos gives it, the folder is in the sandbox.
func cacheFolder(sandbox string, user int) string {
	name := "elasticjob-cache"
	if user != 0 {
		name += "-" + strconv.Itoa(user)
	}
	parts := strings.Split(filepath.Clean(sandbox), string(filepath.Separator))
	// The path ends with slaves/ID/frameworks/ID/executors/ID/runs/ID.
	n := len(parts)
	ofMesos := n > 8 && parts[n-8] == "slaves" && parts[n-6] == "frameworks" && parts[n-4] == "executors" &&
		parts[n-2] == "runs"
	if ofMesos {
		return filepath.Join(string(filepath.Separator), filepath.Join(parts[:n-8]...), name)
	}
	return privateCache(sandbox)
}

// privateCache returns the folder for packages that only this executor uses. Such a cache is still useful, because an
// executor runs many tasks.
func privateCache(sandbox string) string { return filepath.Join(sandbox, "cache") }

// packageOpener returns a function that opens packages on this machine (file: URLs) with the rights of the tasks'
// user. A task can see its package, so the function refuses a file that this user can't read, and a file that is
// hidden from tasks.
func packageOpener(as *isolation.Account, hide *isolation.Places) func(path string) (*os.File, error) {
	return func(path string) (file *os.File, err error) {
		err = as.Do(func() error {
			file, err = pack.OpenFile(path)
			return err
		})
		hidden := fmt.Errorf("%s is hidden from jobs: put packages into a folder of their own", path)
		switch {
		case err == nil && hide.Hides(file):
			return nil, errors.Join(hidden, file.Close())
		case err != nil && hide.Has(path): // the file is hidden from this executor too
			return nil, hidden
		}
		return file, explainUnreadable(as, err)
	}
}

// explainUnreadable extends an error about missing permissions: it names the user who can't read the package, and says
// what to do. It returns other errors unchanged.
func explainUnreadable(as *isolation.Account, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	name := strconv.Itoa(os.Getuid())
	switch {
	case as != nil:
		name = cmp.Or(as.Name, as.IDs())
	default:
		if found, lookupErr := user.LookupId(name); lookupErr == nil {
			name = found.Username
		}
	}
	return fmt.Errorf("%w: jobs run as user %s, who must be able to read it: make the file readable (chmod o+r), and its folders accessible (chmod o+x)", err, name)
}

// makeOwned creates a folder that only this user can write to, if it does not exist. It returns an error unless the
// folder and each of its entries pass checkOwned: packages that other users put there would run as this user.
func makeOwned(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := checkOwned(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := checkOwned(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// checkOwned returns an error unless dir is a folder that belongs to this user and that only this user can write to.
func checkOwned(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	case ok && int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, the executor runs as %d", dir, stat.Uid, os.Geteuid())
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others can write to %s", dir)
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return &fs.PathError{Op: "write to", Path: dir, Err: err}
	}
	return nil
}
