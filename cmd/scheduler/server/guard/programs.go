package guard

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/executors"
)

// Programs are the files that the next start executes, as far as this one knows: this program, by the name that it was
// started by, too, the executors, and the command line beside it. Links are not resolved. ExecutorDir is the
// folder of the executors that a flag names, empty for that of this program.
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
