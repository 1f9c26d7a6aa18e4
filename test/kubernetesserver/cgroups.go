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

// removeCgroups waits until the processes in cgroups have ended, and removes the cgroups with those below them.
func removeCgroups(folders []string) error {
	var failed error
	for _, folder := range folders {
		failed = errors.Join(failed, removeCgroup(folder))
	}
	return failed
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

// checkEmpty returns an error that lists the processes in a cgroup or below it. A killed process stays there for a
// moment, until the kernel has ended it; its memory is released first. From then on its command line is empty, so
// that a search by command lines misses it. A zombie is in no cgroup.
func checkEmpty(folder string) error {
	groups, err := withChildren(folder)
	if err != nil {
		return err
	}
	var failed error
	for _, group := range groups {
		pids, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		if err == nil && len(pids) > 0 {
			err = fmt.Errorf("%s has the processes %s", group, strings.Join(strings.Fields(string(pids)), ", "))
		}
		if err == nil {
			err = unpopulated(group)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// unpopulated returns an error if a cgroup of version 2 has processes, listed or not; version 1 has no such file.
func unpopulated(group string) error {
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
			return nil // it has been removed meanwhile
		}
		if err == nil && entry.IsDir() {
			groups = append(groups, path)
		}
		return err
	})
	return groups, err
}
