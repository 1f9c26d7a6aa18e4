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

// mounted is one mount of this process's namespace.
type mounted struct {
	id     uint64
	device string // of the file system, major:minor
	root   string // what of the file system is mounted
	at     string
	kind   string // of the file system
}

// mounts are all mounts of this process's namespace.
func mounts() ([]mounted, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list what is mounted: %w", err)
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var all []mounted
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line) // id, parent, device, root, mount point, options, any number more, -, kind, …
		end := slices.Index(fields, "-")
		if end < 6 || end+1 >= len(fields) {
			continue
		}
		if strings.HasSuffix(fields[3], "//deleted") {
			continue // it has no other name, and nothing can be mounted on it
		}
		id, err := strconv.ParseUint(fields[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("list what is mounted: %w", err)
		}
		all = append(all, mounted{
			id, fields[2], unescape.Replace(fields[3]), unescape.Replace(fields[4]), fields[end+1],
		})
	}
	return all, nil
}

// ofTheKernel are kinds of file systems that no one stores anything in.
var ofTheKernel = []string{"proc", "sysfs", "devtmpfs", "devpts", "mqueue", "cgroup", "cgroup2"}

// otherNames lists the names, without links, that a file or folder has beside path because its file system, or a part
// of it, is mounted more than once: what is hidden under one name could be reached by another. Of a folder they
// include those of parts of it, and none that the folder itself is in. Path must have no links. Kernels that don't say
// which mount a path is in (before 5.8) know no other names.
func otherNames(path string) ([]string, error) {
	all, err := mounts()
	if err != nil {
		return nil, err
	}
	// What lies at path: a part of the file system that it is in, and what is mounted below it.
	var parts []mounted
	around := mountOf(path)
	for _, m := range all {
		switch below, inside := relative(path, m.at); {
		case inside && below != "." && !slices.Contains(ofTheKernel, m.kind):
			parts = append(parts, m)
		case m.id == around:
			if rest, is := relative(m.at, path); is {
				parts = append(parts, mounted{id: m.id, device: m.device, root: filepath.Join(m.root, rest)})
			}
		}
	}
	var names []string
	for _, m := range all {
		for _, part := range parts {
			name := m.at // of a part of the part
			if rest, is := relative(m.root, part.root); is {
				name = filepath.Join(m.at, rest)
			} else if _, is := relative(part.root, m.root); !is {
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

// relative is path's name within a folder, "." for the folder itself; both are clean and absolute.
func relative(folder, path string) (name string, inside bool) {
	if folder == path {
		return ".", true
	}
	return strings.CutPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// mountOf is the mount that a path is in, 0 if it can't be known.
func mountOf(path string) uint64 {
	var stat unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &stat)
	if err != nil || stat.Mask&unix.STATX_MNT_ID == 0 {
		return 0
	}
	return stat.Mnt_id
}

// showOnly puts an empty folder in the place of the named one's parent, and in there, closed, the named one. A
// name that leads out of the hidden folder is left out.
func showOnly(name, hidden string) error {
	inside := func(name string) (path string, is bool, err error) {
		path, err = filepath.EvalSymlinks(name)
		if errors.Is(err, fs.ErrNotExist) {
			return "", false, nil
		}
		return path, strings.HasPrefix(path, hidden+"/"), err
	}
	around, is, err := inside(filepath.Dir(name))
	if err != nil || !is {
		return err
	}
	target, is, err := inside(name)
	if err != nil {
		return err
	}
	if !is {
		return errors.Join(mountEmpty(around), closeMount(around))
	}
	shown, err := openFolder(target)
	if err != nil {
		return err
	}
	defer shown.Close()
	if err := mountEmpty(around); err != nil {
		return err
	}
	path := filepath.Join(around, filepath.Base(name))
	if err := os.Mkdir(path, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", shown.Fd()), path, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return errors.Join(closeMount(path), closeMount(around))
}

// mountEmpty puts an empty folder in the place of one.
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

// closeMount keeps what is mounted on a folder or file from being written to. What else it forbids stays forbidden.
func closeMount(folder string) error {
	// These are the same numbers as in calls of mount.
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

// pin keeps each folder that leads to a path where it is: whoever is in a mount namespace can neither rename nor
// remove what something is mounted on in it. So each that this user could rename is mounted on itself.
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

// fix keeps a file as it is, under its name: what is mounted on itself can be neither renamed nor removed, and nothing
// can be renamed to its name. Other files in its folder can.
func fix(path string) error {
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if err := unix.Mount(file, file, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("keep %s in its place: %w", file, err)
	}
	return closeMount(file)
}

// isMountPoint reports whether something is mounted on a folder. Kernels that can't say it (before 5.8) say no.
func isMountPoint(path string) bool {
	var inside, around unix.Statx_t
	err := errors.Join(unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_MNT_ID, &inside),
		unix.Statx(unix.AT_FDCWD, filepath.Dir(path), 0, unix.STATX_MNT_ID, &around))
	return err == nil && inside.Mask&around.Mask&unix.STATX_MNT_ID != 0 && inside.Mnt_id != around.Mnt_id
}
