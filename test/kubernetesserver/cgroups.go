package kubernetesserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// cgroups returns the folders of the containers' cgroups, which outlive the containers when containerd is killed.
func (c *Cluster) cgroups() (folders []string) {
	for _, n := range c.Nodes {
		folders = append(folders, cgroupsOf(n.dir)...)
	}
	return folders
}

// cgroupsOf returns the cgroups of a node's containers, from the state of its containerd in the node's folder.
func cgroupsOf(node string) (folders []string) {
	containers, _ := filepath.Glob(filepath.Join(node, "state", "io.containerd.runtime.v2.task", "k8s.io", "*"))
	for _, container := range containers {
		// Version 2 has one tree, version 1 has one for each controller.
		for _, tree := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
			found, _ := filepath.Glob(filepath.Join(tree, "k8s.io", filepath.Base(container)))
			folders = append(folders, found...)
		}
	}
	return folders
}

// removeCgroups waits until the processes in cgroups and in those below them have ended, and removes all of these
// cgroups.
func removeCgroups(folders []string) error {
	var err error
	for _, folder := range folders {
		err = errors.Join(err, removeCgroup(folder))
	}
	return err
}

func removeCgroup(folder string) error {
	if err := await("empty "+folder, nil, func(context.Context) error { return checkEmpty(folder) }); err != nil {
		return err
	}
	groups, err := withChildren(folder)
	if err != nil {
		return err
	}
	for _, group := range slices.Backward(groups) { // children first
		if err := syscall.Rmdir(group); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &os.PathError{Op: "rmdir", Path: group, Err: err}
		}
	}
	return nil
}

// checkEmpty returns an error that lists the processes in a cgroup or below it, or nil if there are none. A killed
// process stays in its cgroup for a moment, until the kernel has ended it. The kernel releases its memory first, so its
// command line is empty by then, and a search by command lines would miss it. A zombie is in no cgroup.
func checkEmpty(folder string) error {
	groups, err := withChildren(folder)
	if err != nil {
		return err
	}
	var errs error
	for _, group := range groups {
		pids, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		if err == nil && len(pids) > 0 {
			err = fmt.Errorf("%s has the processes %s", group, strings.Join(strings.Fields(string(pids)), ", "))
		}
		if err == nil {
			err = checkUnpopulated(group)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			errs = errors.Join(errs, err)
		}
	}
	return errs
}

// checkUnpopulated returns an error if a cgroup of version 2 is populated, even by a process that cgroup.procs does not
// list. For a cgroup of version 1 it returns fs.ErrNotExist.
func checkUnpopulated(group string) error {
	events, err := os.ReadFile(filepath.Join(group, "cgroup.events"))
	if err == nil && slices.Contains(strings.Split(string(events), "\n"), "populated 1") {
		return fmt.Errorf("%s is populated", group)
	}
	return err
}

// withChildren returns a cgroup and those below it, parents first.
func withChildren(folder string) (groups []string, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the cgroup has been removed meanwhile
		}
		if err == nil && entry.IsDir() {
			groups = append(groups, path)
		}
		return err
	})
	return groups, err
}
