package guard

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/executors"
)

// Programs returns the files that the next start probably executes: this program, also under the name by which it was
// started, the executors, and the command elasticjob in the folder of this program. It does not resolve links.
// executorDir is the folder of --executor-dir, or "".
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
		if startedAs, err := exec.LookPath(os.Args[0]); err == nil && sameFile(startedAs, self) {
			if startedAs, err = filepath.Abs(startedAs); err == nil {
				add(startedAs)
			}
		}
	}
	if dir, err := executors.Folder(executorDir); err == nil {
		add(filepath.Join(dir, executors.AnyName))
		add(filepath.Join(dir, executors.OwnName))
	}
	return files
}

func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errors.Join(errA, errB) == nil && os.SameFile(infoA, infoB)
}
