package isolation

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Account is a user of this machine that jobs run as. A nil Account is the user of this process.
type Account struct {
	Name     string
	UID, GID uint32
	// Groups are all groups of the user, including GID.
	Groups []uint32
	Home   string
}

// Lookup finds a user by name or uid. It also accepts uid:gid, even if the machine does not know these numbers.
func Lookup(name string) (*Account, error) {
	if a, ok := ParseIDs(name); ok {
		return a, nil
	}
	found, err := user.Lookup(name)
	if _, parseErr := strconv.ParseUint(name, 10, 32); err != nil && parseErr == nil {
		found, err = user.LookupId(name)
	}
	if err != nil {
		return nil, fmt.Errorf("user %q is not known on this machine: %w", name, err)
	}
	a := &Account{Name: found.Username, Home: found.HomeDir}
	groups, err := found.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("the groups of user %q: %w", name, err)
	}
	for _, text := range append([]string{found.Uid, found.Gid}, groups...) {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %q has the id %q, which is not a number", name, text)
		}
		a.Groups = append(a.Groups, uint32(id))
	}
	a.UID, a.GID, a.Groups = a.Groups[0], a.Groups[1], a.Groups[1:]
	slices.Sort(a.Groups)
	a.Groups = slices.Compact(a.Groups)
	return a, nil
}

// AccountFor returns the account for the processes of jobs. name is the account's name, uid or uid:gid, and uid is the
// uid of this process. AccountFor returns nil if jobs run as the user of this process. If uid is root's and name is
// empty, it returns an error, so that jobs do not run as root by accident; the name "root" allows that. It also returns
// an error for another account if uid is not root's.
func AccountFor(name string, uid int) (*Account, error) {
	if name == "" {
		if uid == 0 {
			return nil, errors.New("jobs run as root only on request: give the scheduler --run-as USER, a user of this machine, or --run-as root")
		}
		return nil, nil
	}
	a, err := Lookup(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--run-as: %w", err)
	case int(a.UID) == uid:
		return nil, nil
	case uid != 0:
		return nil, fmt.Errorf("--run-as %s: only root can run processes as another user, and this is user %d", name,
			uid)
	}
	return a, nil
}

// Do calls f with the account's rights to files instead of this process's rights. Files that f creates belong to the
// account. Do may be called concurrently. f must not start goroutines that access files.
func (a *Account) Do(f func() error) error {
	if a == nil {
		return f()
	}
	done := make(chan error, 1)
	go func() {
		// The kernel has these ids per thread. The goroutine never unlocks its thread, so the thread ends with it,
		// and the ids need not be restored.
		runtime.LockOSThread()
		err := a.assume()
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// assume gives this thread the account's ids for files. The kernel then also takes root's rights to files away from the
// thread.
func (a *Account) assume() error {
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(a.Groups)),
		uintptr(unsafe.Pointer(unsafe.SliceData(a.Groups))), 0); errno != 0 {
		return fmt.Errorf("take the groups of user %s: %w", a.Name, errno)
	}
	_ = unix.Setfsgid(int(a.GID)) // these calls return no error, so the ids are read back below
	_ = unix.Setfsuid(int(a.UID))
	gid, _ := unix.SetfsgidRetGid(-1)
	uid, _ := unix.SetfsuidRetUid(-1)
	if uint32(gid) != a.GID || uint32(uid) != a.UID {
		return fmt.Errorf("take the ids of user %s: refused by the kernel", a.Name)
	}
	return nil
}

// CheckEntry returns an error if the account can't enter a folder on the way to path, or path itself. The error names
// the folder and what to do.
func (a *Account) CheckEntry(path string) error {
	if a == nil {
		return nil
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for folder := "/"; ; {
		info, err := os.Stat(folder)
		if err != nil {
			return err
		}
		if !a.mayEnter(info) {
			return fmt.Errorf("user %s can't enter %s (mode %04o): chmod o+x it, or take another folder", a.Name,
				folder, info.Mode().Perm())
		}
		if folder == path {
			return nil
		}
		rest := strings.TrimPrefix(strings.TrimPrefix(path, folder), "/")
		next, _, _ := strings.Cut(rest, "/")
		folder = filepath.Join(folder, next)
	}
}

// mayEnter reports whether the folder's mode allows the account to pass through it.
func (a *Account) mayEnter(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode().Perm(); {
	case a.UID == 0 || !ok:
		return true
	case stat.Uid == a.UID:
		return mode&0o100 != 0
	case slices.Contains(a.Groups, stat.Gid):
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}
