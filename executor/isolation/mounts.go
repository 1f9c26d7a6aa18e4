package isolation

import (
	"fmt"
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
