package kubernetesserver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// cgroups are the folders of the containers' cgroups, which outlive the containers when containerd is killed.
func (c *Cluster) cgroups() (folders []string) {
	for _, n := range c.Nodes {
		containers, _ := filepath.Glob(filepath.Join(n.dir, "state", "io.containerd.runtime.v2.task", "k8s.io", "*"))
		for _, container := range containers {
			// Version 2 has one tree, version 1 one for each controller.
			for _, tree := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
				found, _ := filepath.Glob(filepath.Join(tree, "k8s.io", filepath.Base(container)))
				folders = append(folders, found...)
			}
		}
	}
	return folders
}

// removeCgroups removes them when their processes have ended.
func removeCgroups(folders []string) error {
	var failed error
	for _, folder := range folders {
		if err := syscall.Rmdir(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, &os.PathError{Op: "rmdir", Path: folder, Err: err})
		}
	}
	return failed
}
