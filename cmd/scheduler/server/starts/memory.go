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

// memory measures the memory of a process in bytes. used returns 0 if the use is unknown, limit returns 0 if there is
// no limit.
type memory struct {
	used, limit func() int64
}

// ownMemory measures this process. Its limit is the lowest of GOMEMLIMIT and the limits of its cgroups.
func ownMemory() memory {
	return memory{used: residentBytes, limit: func() int64 {
		content, _ := os.ReadFile("/proc/self/cgroup") // without this file there is no cgroup
		lowest := cgroupLimit(os.DirFS("/sys/fs/cgroup"), string(content))
		if soft := debug.SetMemoryLimit(-1); soft > 0 && soft < math.MaxInt64 && (lowest == 0 || soft < lowest) {
			lowest = soft
		}
		return lowest
	}}
}

// residentBytes returns the resident memory of this process in bytes, or 0 if it is unknown.
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

// noCgroupLimit is more memory than any machine has. Version 1 of cgroups has such a number if there is no limit.
const noCgroupLimit = 1 << 60

// cgroupLimit returns the lowest memory limit of a process's cgroups and of their parents, or 0 if there is none. own
// is the content of /proc/self/cgroup. root is the file system of cgroups: of version 2, or of version 1 with the
// folder memory.
func cgroupLimit(root fs.FS, own string) (lowest int64) {
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
		for cgroup := path.Clean("/" + parts[2]); ; cgroup = path.Dir(cgroup) {
			content, readErr := fs.ReadFile(root, path.Join(folder, cgroup[1:], file))
			n, parseErr := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
			isLimit := readErr == nil && parseErr == nil && n > 0 && n < noCgroupLimit
			if isLimit && (lowest == 0 || n < lowest) {
				lowest = n
			}
			if cgroup == "/" {
				break
			}
		}
	}
	return lowest
}
