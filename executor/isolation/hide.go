package isolation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Places are what the processes of a user's own jobs don't see: in the place of a folder there is an empty one that
// can't be written to, with nothing in it but what is kept, and in the place of each file one that nobody can read.
//
// A mount namespace does it, which a program enters at its start, and all that it starts with it, so that it costs
// nothing by task. Who is not root gets one in a user namespace in which he is himself and has no rights over it:
// programs that become another user by their file's mode, such as sudo, don't work in it. And nobody in it can look
// into a process outside of it, even into one that isn't concealed, but for the numbers of its descriptors. A file
// that somebody outside replaces by another one, by rename, is seen from then on; in the hidden folder nothing is.
//
// Executors are in there with their tasks: what a task puts in the place of the executor's files, such as a link,
// leads the executor nowhere either that the task could not go by itself. Who is in there can't rename a folder on the
// way to what is hidden: otherwise the next program would hide an empty folder of that name, and see the hidden one
// under its new name. The same holds for what is fixed, which somebody outside will execute by its name.
type Places struct {
	Folder string `json:"folder,omitempty"`
	// Is, unless it is zero, is which folder must be at Folder: another one is not hidden in its place.
	Is    Identity `json:"is,omitzero"`
	Files []string `json:"files,omitempty"`
	// FilesAre says which file must be at some of Files, whose names have no links: where another one is, or none,
	// what is to be hidden has another name, and the program is not started. It is beside Files because executors of
	// earlier releases read those.
	FilesAre map[string]Identity `json:"files_are,omitempty"`
	// Keep are folders below Folder. Of those that are also in Closed nothing can be changed, and one that isn't there
	// is left out.
	Keep   []string `json:"keep,omitempty"`
	Closed []string `json:"closed,omitempty"`
	// Only are folders in kept ones. Each is all that is seen of the folder that it is in, and nothing in it can be
	// changed. One that isn't there is left out.
	Only []string `json:"only,omitempty"`
	// Fixed are files that can be read and executed, and neither written to nor replaced. One that isn't there is left
	// out.
	Fixed []string `json:"fixed,omitempty"`
	// Last says that nobody in there can make further user namespaces. In one of those he could make a mount namespace
	// without any mount, and go by a folder that he had opened before: nothing would be kept in its place.
	Last bool `json:"last,omitempty"`
	// Try says that the program is only to find out whether it can be done.
	Try bool `json:"try,omitempty"`
}

const (
	// enterVariable tells a program what it is to hide from itself.
	enterVariable = "ELASTICJOB_ENTER"
	// enteredVariable tells it that it has done so.
	enteredVariable = "ELASTICJOB_ENTERED"
)

// Entered reports whether this process was started by [Places.Start], and so sees nothing of its places.
func Entered() bool { return os.Getenv(enteredVariable) != "" }

// exposing guards for how long this process is not concealed.
var exposing sync.Mutex

// Start starts a program that calls [Enter] first, so that it sees nothing of the places. attr and env are what it
// will be started with, by the function. The error may say that the kernel makes no such namespaces for this user;
// what fails in the program itself ends it. It is for who isn't root.
func (p Places) Start(attr *syscall.SysProcAttr, env *[]string, start func() error) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	*env = append(*env, enterVariable+"="+string(text))
	uid, gid := os.Geteuid(), os.Getegid()
	attr.Cloneflags |= unix.CLONE_NEWUSER | unix.CLONE_NEWNS
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	if p.Last {
		attr.AmbientCaps = append(attr.AmbientCaps, unix.CAP_SYS_RESOURCE) // it sets limits of the namespace only
	}
	exposing.Lock()
	defer exposing.Unlock()
	// Of a concealed process, and so of what it forks, the files that the ids are written to belong to root. For this
	// moment it is not concealed; jobs that run already are in namespaces of their own, from which they can't look
	// into it.
	concealed, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err == nil && concealed == 0 {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
			return err
		}
		defer func() { _ = Conceal() }()
	}
	return start()
}

// Enter hides what [Places.Start] was told to hide, and then executes the program again, without the rights that it
// took. It returns at once in a program that was started in another way.
func Enter() error {
	text, given := os.LookupEnv(enterVariable)
	if !given {
		return nil
	}
	var p Places
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return fmt.Errorf("read %s: %w", enterVariable, err)
	}
	runtime.LockOSThread() // rights are the thread's
	err := p.hide()
	if err != nil {
		return fmt.Errorf("hide %s from tasks: %w", p.Folder, err)
	}
	if p.Last {
		// The limit is this namespace's own.
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			return fmt.Errorf("let tasks make no user namespaces: %w", err)
		}
	}
	if p.Try {
		return nil
	}
	// Without new privileges nothing that a job executes gets back the right to unmount.
	err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	}
	if err == nil {
		none := [2]unix.CapUserData{}
		err = unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
	}
	if err == nil {
		err = errors.Join(os.Unsetenv(enterVariable), os.Setenv(enteredVariable, p.Folder))
	}
	if err == nil {
		err = os.Chdir("/") // the working folder is still the one that was there before
	}
	if err == nil {
		err = syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	return fmt.Errorf("start again without rights: %w", err)
}

// hide hides the places from this process, which ends if that fails.
func (p Places) hide() error {
	p, others, err := p.byAllNames()
	if err != nil {
		return err
	}
	for _, path := range slices.Concat([]string{p.Folder}, p.Files, p.Fixed) {
		if err := pin(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, path := range p.Fixed {
		if err := fix(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	folder, err := filepath.EvalSymlinks(p.Folder)
	if err != nil {
		return err
	}
	hidden, err := openFolder(folder)
	if err != nil {
		return err
	}
	defer hidden.Close()
	if is, err := IdentityOf(hidden); err != nil || p.Is != (Identity{}) && is != p.Is {
		return errors.Join(err,
			errors.New("another folder is there: move the right one back, or start the server again with its path"))
	}
	type keeping struct {
		folder *os.File
		path   string
		closed bool
	}
	var kept []keeping
	for _, name := range p.Keep {
		path, err := filepath.EvalSymlinks(name)
		closed := slices.Contains(p.Closed, name)
		if closed && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if path == folder || !strings.HasPrefix(path, folder+"/") {
			continue // it isn't hidden
		}
		opened, err := openFolder(path)
		if err != nil {
			return err
		}
		defer opened.Close()
		kept = append(kept, keeping{opened, path, closed})
	}
	if err := mountEmpty(folder); err != nil {
		return err
	}
	for _, k := range kept {
		if err := os.MkdirAll(k.path, 0o755); err != nil {
			return err
		}
		opened := fmt.Sprintf("/proc/self/fd/%d", k.folder.Fd())
		if err := unix.Mount(opened, k.path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("keep %s: %w", k.path, err)
		}
		if k.closed {
			if err := closeMount(k.path); err != nil {
				return err
			}
		}
	}
	for _, name := range p.Only {
		if err := showOnly(name, folder); err != nil {
			return fmt.Errorf("show nothing beside %s: %w", name, err)
		}
	}
	for _, other := range others {
		if err := errors.Join(mountEmpty(other), closeMount(other)); err != nil {
			return err
		}
	}
	if err := p.hideFiles(folder); err != nil {
		return err
	}
	return closeMount(folder)
}

// byAllNames adds the other names that files have because something is mounted more than once, and returns those of
// the folder and of what is in it.
func (p Places) byAllNames() (_ Places, folders []string, err error) {
	others := func(paths []string) (names []string, err error) {
		for _, path := range paths {
			real, err := filepath.EvalSymlinks(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			more, err := otherNames(real)
			if err != nil {
				return nil, err
			}
			names = append(names, more...)
		}
		return names, nil
	}
	files, err := others(p.Files)
	if err != nil {
		return p, nil, err
	}
	fixed, err := others(p.Fixed)
	if err != nil {
		return p, nil, err
	}
	folders, err = others([]string{p.Folder})
	if err != nil {
		return p, nil, err
	}
	// What is mounted in the folder can be a file.
	folders = slices.DeleteFunc(folders, func(name string) bool {
		info, err := os.Lstat(name)
		if err != nil || info.IsDir() {
			return false
		}
		files = append(files, name)
		return true
	})
	p.Files, p.Fixed = slices.Concat(p.Files, files), slices.Concat(p.Fixed, fixed)
	return p, folders, nil
}
