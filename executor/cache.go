package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// cacheFolder is in the agent's work folder, where all of its executors of one user find it and
// which is on one file system with the sandboxes; for sandboxes of another form, in the sandbox.
func cacheFolder(sandbox string, user int) string {
	name := "elasticjob-cache"
	if user != 0 {
		name += "-" + strconv.Itoa(user)
	}
	parts := strings.Split(filepath.Clean(sandbox), string(filepath.Separator))
	// …/slaves/ID/frameworks/ID/executors/ID/runs/ID
	if n := len(parts); n > 8 && parts[n-8] == "slaves" && parts[n-6] == "frameworks" && parts[n-4] == "executors" &&
		parts[n-2] == "runs" {
		return filepath.Join(string(filepath.Separator), filepath.Join(parts[:n-8]...), name)
	}
	return ownCache(sandbox)
}

// ownCache is for this executor alone, which lives for many tasks.
func ownCache(sandbox string) string { return filepath.Join(sandbox, "cache") }

// packageOpener opens packages of this machine. A task sees its package: a file that its user can't read, or that is
// hidden from him, is none.
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
		case err != nil && hide.Has(path): // this executor does not see it either
			return nil, hidden
		}
		return file, err
	}
}

// makeOwn makes a folder that only this user can write to, if it isn't there, and says why it can't be used: others'
// content would run as this user.
func makeOwn(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := writable(dir); err != nil {
		return err
	}
	below, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range below {
		if err := writable(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func writable(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", dir)
	case known && int(owner.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, the executor runs as %d", dir, owner.Uid, os.Geteuid())
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others can write to %s", dir)
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return &fs.PathError{Op: "write to", Path: dir, Err: err}
	}
	return nil
}
