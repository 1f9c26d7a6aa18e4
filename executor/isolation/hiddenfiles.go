package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Identity identifies a folder or file. It is unique as long as a process has the folder or file open.
type Identity struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// IdentityOf returns the identity of an open folder or file.
func IdentityOf(opened interface{ Fd() uintptr }) (Identity, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(opened.Fd()), &stat); err != nil {
		return Identity{}, fmt.Errorf("identify a folder or file: %w", err)
	}
	return Identity{Device: stat.Dev, Inode: stat.Ino}, nil
}

// Hides reports whether an open file is hidden. It also returns true if it can't find that out. A nil Places hides
// nothing.
func (p *Places) Hides(file *os.File) bool {
	if p == nil {
		return false
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
	if err != nil {
		return true
	}
	folders := []string{p.Folder}
	if folder, err := filepath.EvalSymlinks(p.Folder); err == nil {
		others, err := aliases(folder)
		if err != nil {
			return true
		}
		folders = append(others, folder)
	}
	for _, folder := range folders {
		if _, inside := relative(folder, path); inside {
			return true
		}
	}
	id, err := IdentityOf(file)
	if err != nil {
		return true
	}
	if slices.Contains(slices.Collect(maps.Values(p.FileIDs)), id) {
		return true
	}
	return slices.ContainsFunc(p.Files, func(name string) bool {
		hidden, err := filepath.EvalSymlinks(name)
		return err == nil && hidden == path
	})
}

// Has reports whether a path is in the hidden folder. It does not follow links. A nil Places hides nothing.
func (p *Places) Has(path string) bool {
	return p != nil && strings.HasPrefix(filepath.Clean(path), p.Folder+"/")
}

// hideFiles creates a file without content and permissions in the folder, and mounts it on each hidden file.
func (p Places) hideFiles(folder string) error {
	empty, err := os.OpenFile(filepath.Join(folder, "hidden"), os.O_CREATE|os.O_EXCL, 0)
	if err != nil {
		return err
	}
	defer empty.Close()
	for _, file := range p.Files {
		if err := p.hideFile(file, folder, empty); err != nil {
			return fmt.Errorf("hide %s: %w", file, err)
		}
	}
	return os.Remove(empty.Name())
}

// hideFile mounts the empty file on the file called name. It does nothing if that file does not exist, is in the hidden
// folder, or is already hidden under another name. It returns errFileMoved if the file must have an identity and name
// refers to another file or to none.
func (p Places) hideFile(name, folder string, empty *os.File) error {
	id, hasID := p.FileIDs[name]
	path, err := filepath.EvalSymlinks(name)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case strings.HasPrefix(name, folder+"/"), missing && !hasID, err == nil && strings.HasPrefix(path, folder+"/"):
		return nil // the file is not visible, or does not exist
	case missing:
		return errFileMoved
	case err != nil:
		return err
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	opened := os.NewFile(uintptr(fd), path)
	defer opened.Close()
	now, err := IdentityOf(opened)
	emptyID, err2 := IdentityOf(empty)
	switch {
	case errors.Join(err, err2) != nil:
		return errors.Join(err, err2)
	case now == emptyID:
		return nil
	case hasID && now != id:
		return errFileMoved
	}
	return unix.Mount(empty.Name(), fmt.Sprintf("/proc/self/fd/%d", fd), "", unix.MS_BIND, "")
}

var errFileMoved = errors.New("its name refers to another file than at the server's start, or to none: " +
	"move the right one back, or restart the server")
