package guard

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/executors"
)

// Programs returns the files that the next start executes, as far as this process can know: this program, also under
// the name by which it was started, the executors, and the elasticjob command beside it. It does not resolve links.
// executorDir is the folder that --executor-dir names; empty means the folder of this program.
func Programs(executorDir string) []string {
	var files []string
	add := func(path string) {
		if _, err := os.Stat(path); err == nil && !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	self, err := os.Executable()
	if err == nil {
		add(self)
		add(filepath.Join(filepath.Dir(self), "elasticjob"))
		if started, err := exec.LookPath(os.Args[0]); err == nil && sameFile(started, self) {
			if started, err = filepath.Abs(started); err == nil {
				add(started)
			}
		}
	}
	if dir, err := executors.Folder(executorDir); err == nil {
		add(filepath.Join(dir, executors.AnyName))
		add(filepath.Join(dir, executors.OwnName))
	}
	return files
}

func sameFile(one, other string) bool {
	a, err := os.Stat(one)
	b, err2 := os.Stat(other)
	return errors.Join(err, err2) == nil && os.SameFile(a, b)
}
