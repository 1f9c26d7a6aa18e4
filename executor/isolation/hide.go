package isolation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Places are what jobs of the same user don't see: in the place of a folder there is an empty one that can't be written to, with nothing
// in it but what is kept, and in the place of each file one that nobody can read.
//
// A mount namespace does it, which a program enters at its start, and all that it starts with it, so that it costs nothing by task.
// Who is not root gets one in a user namespace in which he is himself and has no rights over it: programs that become
// another user by their file's mode, such as sudo, don't work in it. And nobody in it can look into a process outside of it, even
// into one that isn't concealed, but for the numbers of its descriptors. A file that is replaced by another one, by rename, is seen from then on; in the hidden folder nothing is.
type Places struct {
	Folder string   `json:"folder,omitempty"`
	Files  []string `json:"files,omitempty"`
	// Keep are folders below Folder.
	Keep []string `json:"keep,omitempty"`
	// Try says that the program is only to find out whether it can be done.
	Try bool `json:"try,omitempty"`
}

// enterVariable tells a program what it is to hide from itself.
const enterVariable = "ELASTICJOB_ENTER"

// Start starts a program that calls [Enter] first, so that it sees nothing of the places. The error may say that the kernel makes no such
// namespaces for this user; what fails in the program itself ends it. It is for who isn't root.
func (p Places) Start(command *exec.Cmd) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	command.Env = append(command.Env, enterVariable+"="+string(text))
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	attr, uid, gid := command.SysProcAttr, os.Geteuid(), os.Getegid()
	attr.Cloneflags |= unix.CLONE_NEWUSER | unix.CLONE_NEWNS
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	// Of a concealed process, and so of what it forks, the files that the ids are written to belong to root. For this moment it is not
	// concealed; jobs that run already are in namespaces of their own, from which they can't look into it.
	concealed, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err == nil && concealed == 0 {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
			return err
		}
		defer func() { _ = Conceal() }()
	}
	return command.Start()
}

// Enter hides what [Places.Start] was told to hide, and then executes the program again, without the rights that it took. It
// returns at once in a program that was started in another way.
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
		err = os.Unsetenv(enterVariable)
	}
	if err == nil {
		err = os.Chdir("/") // the working folder is still the one that was there before
	}
	if err == nil {
		err = syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	return fmt.Errorf("start again without rights: %w", err)
}

// hide hides the places from this process. What it did of it is undone when it fails.
func (p Places) hide() (err error) {
	folder, err := filepath.EvalSymlinks(p.Folder)
	if err != nil {
		return err
	}
	kept := make([]*os.File, 0, len(p.Keep))
	defer func() {
		for _, f := range kept {
			_ = f.Close()
		}
	}()
	var paths []string
	for _, path := range p.Keep {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
		if path == folder || !strings.HasPrefix(path, folder+"/") {
			continue // it isn't hidden
		}
		fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", path, err)
		}
		kept, paths = append(kept, os.NewFile(uintptr(fd), path)), append(paths, path)
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("elasticjob", folder, "tmpfs", flags, "mode=0755,size=1m"); err != nil {
		return fmt.Errorf("mount an empty folder on %s: %w", folder, err)
	}
	defer func() {
		if err != nil {
			_ = unix.Unmount(folder, unix.MNT_DETACH)
		}
	}()
	for i, path := range paths {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", kept[i].Fd()), path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("keep %s: %w", path, err)
		}
	}
	if err := p.hideFiles(folder); err != nil {
		return err
	}
	if err := unix.Mount("", folder, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags, ""); err != nil {
		return fmt.Errorf("keep %s from being written to: %w", folder, err)
	}
	return nil
}

// Hides reports whether an open file is one of those that are hidden. A nil Places hides nothing.
func (p *Places) Hides(file *os.File) bool {
	if p == nil {
		return false
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
	if err != nil {
		return true
	}
	folder, err := filepath.EvalSymlinks(p.Folder)
	if err == nil && strings.HasPrefix(path, folder+"/") {
		return true
	}
	return slices.ContainsFunc(p.Files, func(named string) bool {
		at, err := filepath.EvalSymlinks(named)
		return err == nil && at == path
	})
}

// hideFiles mounts a file without content and permissions on each, which is made in the folder.
func (p Places) hideFiles(folder string) error {
	empty := filepath.Join(folder, "hidden")
	if err := os.WriteFile(empty, nil, 0); err != nil {
		return err
	}
	for _, file := range p.Files {
		path, err := filepath.EvalSymlinks(file)
		if errors.Is(err, fs.ErrNotExist) || err == nil && strings.HasPrefix(path, folder+"/") {
			continue // nothing to see
		}
		if err == nil {
			err = unix.Mount(empty, path, "", unix.MS_BIND, "")
		}
		if err != nil {
			return fmt.Errorf("hide %s: %w", file, err)
		}
	}
	return os.Remove(empty)
}
