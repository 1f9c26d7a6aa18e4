package starts

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// memory measures a process: the bytes that it uses, 0 if unknown, and the limit in bytes, 0 if there is none.
type memory struct {
	used, limit func() int64
}

// ownMemory measures this process. Its limit is the lowest of GOMEMLIMIT and the limits of its cgroups.
func ownMemory() memory {
	return memory{used: residentBytes, limit: func() int64 {
		content, _ := os.ReadFile("/proc/self/cgroup") // without this file there is no cgroup
		least := cgroupLimit(os.DirFS("/sys/fs/cgroup"), string(content))
		if soft := debug.SetMemoryLimit(-1); soft > 0 && soft < math.MaxInt64 && (least == 0 || soft < least) {
			least = soft
		}
		return least
	}}
}

// residentBytes returns the resident memory of this process in bytes, 0 if unknown.
func residentBytes() int64 {
	content, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(content))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// noCgroupLimit is more memory than any machine has. Version 1 of cgroups reports such a number for "no limit".
const noCgroupLimit = 1 << 60

// cgroupLimit returns the lowest memory limit of the cgroups in own, the content of /proc/self/cgroup, and of their
// parents; 0 if there is none. root is a file system of cgroups version 2, or of version 1 with the folder memory.
func cgroupLimit(root fs.FS, own string) (least int64) {
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		folder, file := "", "memory.max"
		switch {
		case parts[1] == "memory":
			folder, file = "memory", "memory.limit_in_bytes"
		case parts[0] != "0" || parts[1] != "":
			continue
		}
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) {
			content, err := fs.ReadFile(root, path.Join(folder, at[1:], file))
			n, notNumber := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
			if err == nil && notNumber == nil && n > 0 && n < noCgroupLimit && (least == 0 || n < least) {
				least = n
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}
