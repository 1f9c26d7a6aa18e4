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

// Names are the paths of the files and programs that the next start of a server uses. The server runs jobs on this
// machine.
type Names struct {
	// Secrets are the files that flags name. ExecutorDir is the folder that --executor-dir names, if any.
	Secrets     []string
	ExecutorDir string
	// RunAs is the user that jobs run as, in the form of --run-as; UID is the user of the server.
	RunAs  string
	UID    int
	Logger *slog.Logger
}

// Check makes sure that no job can decide what the next start reads and executes. If root's server runs jobs as
// another user, Check returns an error for each file or program that this user could replace. If jobs run as the
// server's own user, executors keep these files in their place, which is not possible for links: Check warns about
// those.
func (n Names) Check() error {
	as, err := isolation.AccountFor(n.RunAs, n.UID)
	if err != nil {
		return nil // the executors report what is wrong with the user
	}
	names := append(slices.Clone(n.Secrets), Programs(n.ExecutorDir)...)
	if as != nil {
		if dir, err := executors.Folder(n.ExecutorDir); err == nil {
			names = append(names, dir) // so that no program can be added there
		}
		var errs []error
		for _, name := range names {
			errs = append(errs, as.CheckProtected(name))
		}
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("keep what the next start reads and executes from jobs: %w", err)
		}
		return nil
	}
	if n.UID == 0 {
		return nil // jobs run as root and can change everything
	}
	for _, name := range names {
		err := eachLink(name, func(link string) {
			n.Logger.Warn("file reached through a link that jobs can replace: the next start would then use another file",
				"file", name, "link", link, "change", "name the file that it leads to")
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("find links that jobs can replace: %w", err)
		}
	}
	return n.guardExecutor()
}

// guardExecutor warns if a job could add an executor file that takes precedence over the present one.
func (n Names) guardExecutor() error {
	dir, err := executors.Folder(n.ExecutorDir)
	if err != nil {
		return nil // there is no folder, and the start reports that
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
