// Package cgroup reads what the kernel's control groups, of version 1 and 2, say about this process: the limits of its
// group and of all groups above, and how many processes of the group were ended because memory was out.
package cgroup

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Limits are what the groups allow together: the smallest limit on the way up. Zero means no limit.
type Limits struct {
	MemoryBytes int64
	CPUs        float64
}

// unlimited is the smallest number of bytes that stands for no limit: version 1 writes its largest number.
const unlimited = 1 << 60

// LimitsOf returns the limits of this process. root is the machine's root directory, os.DirFS("/"). What can't be read
// limits nothing.
func LimitsOf(root fs.FS) (l Limits) {
	for _, g := range groupsOf(root, "memory") {
		limit, err := strconv.ParseInt(read(root, g.folder, g.choose("memory.max", "memory.limit_in_bytes")), 10, 64)
		if err == nil && limit > 0 && limit < unlimited && (l.MemoryBytes == 0 || limit < l.MemoryBytes) {
			l.MemoryBytes = limit
		}
	}
	for _, g := range groupsOf(root, "cpu") {
		quota, period, _ := strings.Cut(read(root, g.folder, "cpu.max"), " ")
		if !g.unified {
			quota, period = read(root, g.folder, "cpu.cfs_quota_us"), read(root, g.folder, "cpu.cfs_period_us")
		}
		part, err := strconv.ParseFloat(quota, 64)
		whole, wrong := strconv.ParseFloat(period, 64)
		if err != nil || wrong != nil || part <= 0 || whole <= 0 { // "max", or -1
			continue
		}
		if cpus := part / whole; l.CPUs == 0 || cpus < l.CPUs {
			l.CPUs = cpus
		}
	}
	return l
}

// EventsFile returns the file that counts, in its line oom_kill, the processes of this process's group that the kernel
// ended because memory was out: relative to root, empty if there is none. With version 2 it includes the groups below.
func EventsFile(root fs.FS) string {
	for _, g := range groupsOf(root, "memory") {
		file := path.Join(g.folder, g.choose("memory.events", "memory.oom_control"))
		if content, err := fs.ReadFile(root, file); err == nil {
			if _, ok := OOMKills(content); ok {
				return file
			}
		}
	}
	return ""
}

// OOMKills returns the count in the content of an EventsFile.
func OOMKills(content []byte) (count int64, ok bool) {
	for line := range strings.Lines(string(content)) {
		if value, found := strings.CutPrefix(line, "oom_kill "); found {
			count, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return count, err == nil
		}
	}
	return 0, false
}

// group is a group of one hierarchy; unified is version 2.
type group struct {
	folder  string
	unified bool
}

func (g group) choose(unified, former string) string {
	if g.unified {
		return unified
	}
	return former
}

// groupsOf returns the groups of this process in every hierarchy that may limit by the controller, each followed by the
// groups above it, as far as this process sees them.
func groupsOf(root fs.FS, controller string) (all []group) {
	mounts := read(root, "proc/self", "mountinfo")
	for line := range strings.Lines(read(root, "proc/self", "cgroup")) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // hierarchy:controllers:path
		if len(fields) < 3 {
			continue
		}
		unified := fields[0] == "0" && fields[1] == ""
		if !unified && !slices.Contains(strings.Split(fields[1], ","), controller) {
			continue
		}
		for mount := range strings.Lines(mounts) {
			before, after, _ := strings.Cut(strings.TrimSpace(mount), " - ")
			places, kind := strings.Fields(before), strings.Fields(after) // kind: type, source, options
			if len(places) < 5 || len(kind) < 3 || unified != (kind[0] == "cgroup2") ||
				!unified && (kind[0] != "cgroup" || !slices.Contains(strings.Split(kind[2], ","), controller)) {
				continue
			}
			// In a container the mount may show the group itself, whatever path the kernel names.
			inside, err := filepath.Rel(places[3], fields[2])
			if err != nil || !filepath.IsLocal(inside) {
				inside = "."
			}
			for ; ; inside = path.Dir(inside) {
				all = append(all, group{strings.TrimPrefix(path.Join(places[4], inside), "/"), unified})
				if inside == "." {
					break
				}
			}
			break
		}
	}
	return all
}

func read(root fs.FS, folder, file string) string {
	content, err := fs.ReadFile(root, path.Join(folder, file))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}
