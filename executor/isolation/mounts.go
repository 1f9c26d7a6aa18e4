package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mountInfo is one mount in this process's namespace.
type mountInfo struct {
	id     uint64
	device string // of the file system, major:minor
	root   string // the part of the file system that is mounted
	point  string // the mount point
	kind   string // of the file system
}

// mounts lists all mounts in this process's namespace.
func mounts() ([]mountInfo, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list what is mounted: %w", err)
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var all []mountInfo
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line) // id, parent, device, root, mount point, options, any number more, -, kind, …
		end := slices.Index(fields, "-")
		if end < 6 || end+1 >= len(fields) {
			continue
		}
		if strings.HasSuffix(fields[3], "//deleted") {
			continue // a deleted file or folder has no other name and can't be a mount point
		}
		id, err := strconv.ParseUint(fields[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("list what is mounted: %w", err)
		}
		all = append(all, mountInfo{
			id, fields[2], unescape.Replace(fields[3]), unescape.Replace(fields[4]), fields[end+1],
		})
	}
	return all, nil
}

// virtualFileSystems are types of file systems that store no files of users.
var virtualFileSystems = []string{"proc", "sysfs", "devtmpfs", "devpts", "mqueue", "cgroup", "cgroup2"}

// aliases lists the other names, without links, of the file or folder at path. It has other names if its file system,
// or a part of that, is mounted more than once. By those names it could be reached although path is hidden. For a
// folder the names of its parts are included, but no name above or below path. path must have no links. On kernels
// that don't report the mount of a path (before 5.8), the list is empty.
func aliases(path string) ([]string, error) {
	all, err := mounts()
	if err != nil {
		return nil, err
	}
	// The parts at path are a part of the file system that path is in, and all mounts below path.
	var parts []mountInfo
	enclosing := mountOf(path)
	for _, m := range all {
		switch below, inside := relative(path, m.point); {
		case inside && below != "." && !slices.Contains(virtualFileSystems, m.kind):
			parts = append(parts, m)
		case m.id == enclosing:
			if rest, ok := relative(m.point, path); ok {
				parts = append(parts, mountInfo{id: m.id, device: m.device, root: filepath.Join(m.root, rest)})
			}
		}
	}
	var names []string
	for _, m := range all {
		for _, part := range parts {
			name := m.point // if the mount shows something inside of the part
			if rest, ok := relative(m.root, part.root); ok {
				name = filepath.Join(m.point, rest)
			} else if _, ok := relative(part.root, m.root); !ok {
				continue
			}
			_, below := relative(path, name)
			_, above := relative(name, path)
			if m.device == part.device && !below && !above && mountOf(name) == m.id {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// relative returns the name of path relative to a folder, which is "." for the folder itself, and whether path is in
// the folder. Both paths must be clean and absolute.
func relative(folder, path string) (name string, inside bool) {
	if folder == path {
		return ".", true
	}
	return strings.CutPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// mountOf returns the id of the mount that contains a path, or 0 if the kernel does not report it.
func mountOf(path string) uint64 {
	var stat unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &stat)
	if err != nil || stat.Mask&unix.STATX_MNT_ID == 0 {
		return 0
	}
	return stat.Mnt_id
}

// showOnly makes the folder called name the only visible entry of its parent. Both are read-only. If there is no such
// folder in the hidden folder, the parent is empty. showOnly does nothing if the parent itself does not exist or is not
// in the hidden folder.
func showOnly(name, hidden string) error {
	inside := func(name string) (path string, ok bool, err error) {
		path, err = filepath.EvalSymlinks(name)
		if errors.Is(err, fs.ErrNotExist) {
			return "", false, nil
		}
		return path, strings.HasPrefix(path, hidden+"/"), err
	}
	parent, ok, err := inside(filepath.Dir(name))
	if err != nil || !ok {
		return err
	}
	target, ok, err := inside(name)
	if err != nil {
		return err
	}
	if !ok {
		return errors.Join(mountEmpty(parent), makeReadOnly(parent))
	}
	shown, err := openFolder(target)
	if err != nil {
		return err
	}
	defer shown.Close()
	if err := mountEmpty(parent); err != nil {
		return err
	}
	path := filepath.Join(parent, filepath.Base(name))
	if err := os.Mkdir(path, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", shown.Fd()), path, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return errors.Join(makeReadOnly(path), makeReadOnly(parent))
}

// mountEmpty mounts an empty folder on a folder.
func mountEmpty(folder string) error {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("elasticjob", folder, "tmpfs", flags, "mode=0755,size=1m"); err != nil {
		return fmt.Errorf("mount an empty folder on %s: %w", folder, err)
	}
	return nil
}

func openFolder(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// makeReadOnly makes the mount on a folder or file read-only. It keeps the other restrictions of the mount.
func makeReadOnly(folder string) error {
	// The flags of statfs have the same values as those of mount.
	const kept = unix.ST_NOSUID | unix.ST_NODEV | unix.ST_NOEXEC | unix.ST_NOATIME | unix.ST_NODIRATIME
	var system unix.Statfs_t
	err := unix.Statfs(folder, &system)
	if err == nil {
		flags := uintptr(system.Flags & kept)
		if system.Flags&unix.ST_RELATIME != 0 {
			flags |= unix.MS_RELATIME
		}
		err = unix.Mount("", folder, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags, "")
	}
	if err != nil {
		return fmt.Errorf("keep %s from being written to: %w", folder, err)
	}
	return nil
}

// pin keeps every folder on the way to a path in its place. It mounts each folder that this user could rename on
// itself: in a mount namespace a mount point can be neither renamed nor removed.
func pin(path string) error {
	steps, err := (*Account)(nil).Steps(path)
	if err != nil {
		return err
	}
	for _, step := range steps[:max(len(steps)-1, 0)] {
		if step.Link || !step.Movable || isMountPoint(step.Path) {
			continue
		}
		if err := unix.Mount(step.Path, step.Path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("keep %s in its place: %w", step.Path, err)
		}
	}
	return nil
}

// pinFile keeps a file unchanged and under its name by mounting it read-only on itself. It can then be neither renamed
// nor removed, and no other file can be renamed to its name. Other files in its folder are not affected.
func pinFile(path string) error {
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if err := unix.Mount(file, file, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("keep %s in its place: %w", file, err)
	}
	return makeReadOnly(file)
}

// isMountPoint reports whether a folder is a mount point. It returns false on kernels that can't tell (before 5.8).
func isMountPoint(path string) bool {
	var folder, parent unix.Statx_t
	err := errors.Join(unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_MNT_ID, &folder),
		unix.Statx(unix.AT_FDCWD, filepath.Dir(path), 0, unix.STATX_MNT_ID, &parent))
	return err == nil && folder.Mask&parent.Mask&unix.STATX_MNT_ID != 0 && folder.Mnt_id != parent.Mnt_id
}
