// Package cgroup reads the kernel's control groups of this process, of version 1 and 2: the limits of its group and of
// all groups above, and how many processes of the group the kernel has ended because memory ran out.
package cgroup

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Limits are the limits of this process: the smallest limit of its group and the groups above. Zero means no limit.
type Limits struct {
	MemoryBytes int64
	CPUs        float64
}

// unlimited is the smallest number of bytes that counts as no limit. Version 1 writes a number near the largest one.
const unlimited = 1 << 60

// LimitsOf returns the limits of this process. root is the machine's root directory, os.DirFS("/"). A limit that can't
// be read counts as no limit.
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
		allowed, err := strconv.ParseFloat(quota, 64)
		per, err2 := strconv.ParseFloat(period, 64)
		if err != nil || err2 != nil || allowed <= 0 || per <= 0 { // the quota is "max" or -1
			continue
		}
		if cpus := allowed / per; l.CPUs == 0 || cpus < l.CPUs {
			l.CPUs = cpus
		}
	}
	return l
}

// EventsFile returns the path, relative to root, of the file whose line oom_kill counts the processes of this
// process's group that the kernel has ended because memory ran out. With version 2 it includes the groups below.
// EventsFile returns "" if there is no such file.
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

// group is a group of one hierarchy. unified is set if the hierarchy is of version 2.
type group struct {
	folder  string
	unified bool
}

// choose returns the name of a file that has different names in the two versions.
func (g group) choose(version2, version1 string) string {
	if g.unified {
		return version2
	}
	return version1
}

// groupsOf returns the group of this process in every hierarchy that may have the controller. After each group come the
// groups above it that this process can see.
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
			paths, filesystem := strings.Fields(before), strings.Fields(after)
			if len(paths) < 5 || len(filesystem) < 3 {
				continue
			}
			fsType, options := filesystem[0], strings.Split(filesystem[2], ",")
			isMount := unified && fsType == "cgroup2" ||
				!unified && fsType == "cgroup" && slices.Contains(options, controller)
			if !isMount {
				continue
			}
			// In a container the mount may show the group itself, whatever path the kernel names.
			inside, err := filepath.Rel(paths[3], fields[2])
			if err != nil || !filepath.IsLocal(inside) {
				inside = "."
			}
			for ; ; inside = path.Dir(inside) {
				all = append(all, group{strings.TrimPrefix(path.Join(paths[4], inside), "/"), unified})
				if inside == "." {
					break
				}
			}
			break
		}
	}
	return all
}

// read returns the content of a file without space around it, or "" if the file can't be read.
func read(root fs.FS, folder, file string) string {
	content, err := fs.ReadFile(root, path.Join(folder, file))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}
