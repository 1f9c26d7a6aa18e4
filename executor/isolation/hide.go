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

// Places are hidden from the processes of jobs that run as the server's own user. Instead of the hidden folder, these
// processes see a read-only folder that contains only the kept folders. Instead of each hidden file they see a file
// that can't be read.
//
// The program is started in a mount namespace of its own. Its descendants share the namespace, so that there is no
// cost per task. A user other than root gets the mount namespace in a user namespace, in which the user keeps the uid
// and has no rights over the namespace. So programs that switch users by their file mode, such as sudo, do not work
// there. A process in the namespace can't look into any process outside of it, even into one that is not concealed; of
// such a process it sees only the numbers of the descriptors. If a process outside replaces a hidden file by another
// file, with a rename, the new file is visible. In the hidden folder everything stays hidden.
//
// Executors are in such a namespace, too. Their tasks are in one that hides the same places and the folders for
// secrets. So if a task replaces one of the executor's files by a link, the link leads the executor to no hidden file
// but the secrets of its own app. A process in the namespace can't rename a folder on the way to a hidden place.
// Otherwise the next program would hide an empty folder of that name, and see the hidden folder under its new name.
// Nor can it rename a folder on the way to a fixed file, which a process outside will execute by name.
type Places struct {
	Folder string `json:"folder,omitempty"`
	// FolderID, if not zero, identifies the folder that must be at Folder. If another folder is there, the start
	// fails.
	FolderID Identity `json:"is,omitzero"`
	Files    []string `json:"files,omitempty"`
	// FileIDs identifies the files that must be at some of the names in Files; these names must have no links. If a
	// name has another file or none, the file to hide has another name now, and the start fails. FileIDs is separate
	// from Files, because executors of earlier releases read Files.
	FileIDs map[string]Identity `json:"files_are,omitempty"`
	// Keep are folders below Folder that stay visible. A folder that is also in ReadOnly is read-only, and is left out
	// if it does not exist.
	Keep     []string `json:"keep,omitempty"`
	ReadOnly []string `json:"closed,omitempty"`
	// Only are folders in kept folders. Each of them is read-only and the only visible entry of its parent. If the
	// folder does not exist, the parent is empty.
	Only []string `json:"only,omitempty"`
	// Fixed are files that can be read and executed, but neither written to nor replaced. A file that does not
	// exist is left out.
	Fixed []string `json:"fixed,omitempty"`
	// NoNested forbids further user namespaces inside. In such a namespace a process could create a mount namespace,
	// unmount everything there, and then use a folder that it has opened before. There no mount would keep a folder or
	// file in its place.
	NoNested bool `json:"last,omitempty"`
	// Probe means that the program only finds out whether the places can be hidden.
	Probe bool `json:"try,omitempty"`
}

const (
	// enterVariable holds, for a started program, the places that it must hide from itself.
	enterVariable = "ELASTICJOB_ENTER"
	// enteredVariable means that the program has hidden them.
	enteredVariable = "ELASTICJOB_ENTERED"
)

// Entered reports whether this process was started by [Places.Start], so that the places are hidden from it.
func Entered() bool { return os.Getenv(enteredVariable) != "" }

// dumpableMu serializes the moments in which this process is not concealed.
var dumpableMu sync.Mutex

// Start starts a program from which the places are hidden. The program must first call [Enter]. Start changes attr and
// env, with which the function start must start the program. The error may say that the kernel creates no such
// namespaces for this user. If Enter fails, the program must end. Start is for users other than root.
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
	if p.NoNested {
		attr.AmbientCaps = append(attr.AmbientCaps, unix.CAP_SYS_RESOURCE) // only for limits of its own namespace
	}
	dumpableMu.Lock()
	defer dumpableMu.Unlock()
	// The /proc files into which the ids are written belong to root if the process is concealed, or was forked from a
	// concealed process. So this process is not concealed during the start. Running jobs can't use that, because from
	// their own namespaces they can't look into this process.
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err == nil && dumpable == 0 {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
			return err
		}
		defer func() { _ = Conceal() }()
	}
	return start()
}

// Enter hides the places that [Places.Start] has passed to this program, and then executes the program again
// without the rights that this required. If the program was not started by Start, Enter returns at once.
func Enter() error {
	text, isSet := os.LookupEnv(enterVariable)
	if !isSet {
		return nil
	}
	var p Places
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return fmt.Errorf("read %s: %w", enterVariable, err)
	}
	runtime.LockOSThread() // capabilities belong to the thread
	err := p.hide()
	if err != nil {
		return fmt.Errorf("hide %s from tasks: %w", p.Folder, err)
	}
	if p.NoNested {
		// The limit applies to this user namespace only.
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			return fmt.Errorf("let tasks make no user namespaces: %w", err)
		}
	}
	if p.Probe {
		return nil
	}
	// With no_new_privs, no program that a job executes can regain the right to unmount.
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
		err = os.Chdir("/") // the working folder still refers to the hidden mount
	}
	if err == nil {
		err = syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	return fmt.Errorf("start again without rights: %w", err)
}

// hide hides the places from this process. The process must end if it fails.
func (p Places) hide() error {
	p, others, err := p.withAliases()
	if err != nil {
		return err
	}
	for _, path := range slices.Concat([]string{p.Folder}, p.Files, p.Fixed) {
		if err := pin(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, path := range p.Fixed {
		if err := pinFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
	if id, err := IdentityOf(hidden); err != nil || p.FolderID != (Identity{}) && id != p.FolderID {
		return errors.Join(err,
			errors.New("another folder has its path: move the right one back, or restart the server with its path"))
	}
	type keptFolder struct {
		folder   *os.File
		path     string
		readOnly bool
	}
	var kept []keptFolder
	for _, name := range p.Keep {
		path, err := filepath.EvalSymlinks(name)
		readOnly := slices.Contains(p.ReadOnly, name)
		if readOnly && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if path == folder || !strings.HasPrefix(path, folder+"/") {
			continue // the folder is not in the hidden folder
		}
		opened, err := openFolder(path)
		if err != nil {
			return err
		}
		defer opened.Close()
		kept = append(kept, keptFolder{opened, path, readOnly})
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
		if k.readOnly {
			if err := makeReadOnly(k.path); err != nil {
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
		if err := errors.Join(mountEmpty(other), makeReadOnly(other)); err != nil {
			return err
		}
	}
	if err := p.hideFiles(folder); err != nil {
		return err
	}
	return makeReadOnly(folder)
}

// withAliases adds the other names of the files, and returns the other names of the folder and of its parts. They have
// other names if a file system is mounted more than once.
func (p Places) withAliases() (_ Places, folders []string, err error) {
	otherNames := func(paths []string) (names []string, err error) {
		for _, path := range paths {
			real, err := filepath.EvalSymlinks(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			more, err := aliases(real)
			if err != nil {
				return nil, err
			}
			names = append(names, more...)
		}
		return names, nil
	}
	files, err := otherNames(p.Files)
	if err != nil {
		return p, nil, err
	}
	fixed, err := otherNames(p.Fixed)
	if err != nil {
		return p, nil, err
	}
	folders, err = otherNames([]string{p.Folder})
	if err != nil {
		return p, nil, err
	}
	// A mount in the folder can also be a file.
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
