package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxSteps limits the number of steps to a path, because links may lead in a circle.
const maxSteps = 256

// Step is one name on the way to a path: a folder, a link, or finally the file or folder that the path names.
type Step struct {
	// Path has no links except, if Link is set, in its last name.
	Path string
	Link bool
	// Movable reports whether the account could rename, remove or replace the folder, link or file.
	Movable bool
}

// Steps lists all names on the way to a path, including links and the names on the way to their targets. It reports
// which of them the account could replace. A user who can replace one of them decides what the path names in the
// future. A nil account is the user of this process.
func (a *Account) Steps(path string) ([]Step, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	var steps []Step
	folder := "/"
	for rest := names(path); len(rest) > 0; {
		step := filepath.Join(folder, rest[0])
		rest = rest[1:]
		if len(steps) == maxSteps {
			return nil, &fs.PathError{Op: "follow", Path: path, Err: unix.ELOOP}
		}
		info, err := os.Lstat(step)
		if err != nil {
			return nil, err
		}
		movable, err := a.canMove(folder, info)
		if err != nil {
			return nil, err
		}
		link := info.Mode()&fs.ModeSymlink != 0
		steps = append(steps, Step{Path: step, Link: link, Movable: movable})
		if !link {
			folder = step
			continue
		}
		to, err := os.Readlink(step)
		if err != nil {
			return nil, err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(folder, to) // folder has no links
		}
		folder, rest = "/", append(names(to), rest...)
	}
	return steps, nil
}

// names returns the components of an absolute path.
func names(path string) []string {
	return slices.DeleteFunc(strings.Split(filepath.Clean(path), "/"), func(name string) bool { return name == "" })
}

// canMove reports whether the account could rename or remove an entry of a folder.
func (a *Account) canMove(folder string, entry fs.FileInfo) (bool, error) {
	info, err := os.Lstat(folder)
	if err != nil {
		return false, err
	}
	uid := uint32(os.Geteuid())
	if a != nil {
		uid = a.UID
	}
	if owner(info) == uid {
		return true, nil // the owner can set the permission
	}
	sticky := info.Mode()&fs.ModeSticky != 0
	return a.mayWrite(folder, info) && (!sticky || owner(entry) == uid), nil
}

// mayWrite reports whether the account, which does not own the folder, may change its entries. It does not read access
// lists: if the folder has one, the group bits of the mode are the maximum that the list grants to anyone.
func (a *Account) mayWrite(folder string, info fs.FileInfo) bool {
	if a == nil {
		return unix.Access(folder, unix.W_OK) == nil
	}
	mode := info.Mode().Perm()
	stat, ok := info.Sys().(*syscall.Stat_t)
	if _, err := unix.Lgetxattr(folder, "system.posix_acl_access", nil); err == nil || !ok {
		return mode&0o022 != 0
	}
	if slices.Contains(a.Groups, stat.Gid) {
		return mode&0o020 != 0
	}
	return mode&0o002 != 0
}

func owner(info fs.FileInfo) uint32 {
	stat, _ := info.Sys().(*syscall.Stat_t) // always this type on Linux
	return stat.Uid
}

// CheckProtected returns an error if the account, which must not be this process's user, could replace a folder or
// file or change its content, because it may write to that or to a folder on the way. The account would then control
// files that root keeps there.
func (a *Account) CheckProtected(path string) error {
	if a == nil || a.UID == 0 {
		return nil
	}
	steps, err := a.Steps(path)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		return a.CheckProtected(filepath.Dir(path)) // this process will create the missing part
	}
	if err != nil {
		return fmt.Errorf("find out whether user %s could move %s: %w", a.Name, path, err)
	}
	for _, step := range steps {
		if step.Movable {
			return fmt.Errorf("user %s could move %s, and what is in it: "+
				"make %s root's, and closed to others' writes (chmod go-w), or take another folder",
				a.Name, step.Path, filepath.Dir(step.Path))
		}
	}
	last := "/"
	if len(steps) > 0 {
		last = steps[len(steps)-1].Path
	}
	info, err := os.Lstat(last)
	if err != nil {
		return err
	}
	kind, could := "folder", "move what is in"
	if !info.IsDir() {
		kind, could = "file", "change"
	}
	sticky := info.IsDir() && info.Mode()&fs.ModeSticky != 0
	if owner(info) == a.UID || !sticky && a.mayWrite(last, info) {
		return fmt.Errorf("user %s could %s %s: "+
			"make it root's, and closed to others' writes (chmod go-w), or take another %s", a.Name, could, last, kind)
	}
	return nil
}
