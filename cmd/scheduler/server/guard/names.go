package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/executors"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// Names are the files and programs of a server that runs jobs on this machine.
type Names struct {
	// Secrets are the files that flags name, and ExecutorDir is the folder of the executors that one names, if any.
	Secrets     []string
	ExecutorDir string
	// RunAs is who jobs run as, as --run-as has it, and UID the user of the server.
	RunAs  string
	UID    int
	Logger *slog.Logger
}

// Check sees to it that no job decides what the next start reads and executes: as another user than root's server
// it must not be able to replace the files that flags name, nor the programs. Where jobs are this server's own user,
// files are kept in their place where jobs see them; links can't be, and so are warned of.
func (n Names) Check() error {
	as, err := isolation.Needed(n.RunAs, n.UID)
	if err != nil {
		return nil // the executors say what is wrong
	}
	names := append(slices.Clone(n.Secrets), Programs(n.ExecutorDir)...)
	if as != nil {
		if dir, err := executors.Folder(n.ExecutorDir); err == nil {
			names = append(names, dir) // where a program could be added
		}
		var errs []error
		for _, name := range names {
			errs = append(errs, as.LeavesAlone(name))
		}
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("keep what the next start reads and executes from jobs: %w", err)
		}
		return nil
	}
	if n.UID == 0 {
		return nil // jobs are root
	}
	for _, name := range names {
		err := eachLink(name, func(link string) {
			n.Logger.Warn("file reached by a link that jobs can replace: "+
				"the next start would then take another file for it",
				"file", name, "link", link, "change", "name the file that it leads to")
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("find links that jobs can replace: %w", err)
		}
	}
	return n.guardExecutor()
}

// guardExecutor warns where a job could add an executor that counts before the one that is there.
func (n Names) guardExecutor() error {
	dir, err := executors.Folder(n.ExecutorDir)
	if err != nil {
		return nil // there is none, and the start says so
	}
	if _, err := os.Stat(filepath.Join(dir, executors.AnyName)); err == nil {
		return nil
	}
	steps, err := (*isolation.Account)(nil).Steps(filepath.Join(dir, executors.OwnName))
	if err == nil && steps[len(steps)-1].Movable {
		n.Logger.Warn("jobs can add an executor: the next start would then run that",
			"folder", dir, "change", "rename "+executors.OwnName+" to "+executors.AnyName)
	}
	return nil
}
