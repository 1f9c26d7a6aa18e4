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

// Names are the paths of the files and programs that the next start of the server uses. They are checked only if jobs
// run on this machine.
type Names struct {
	// Secrets are the secret files that flags name. ExecutorDir is the folder of --executor-dir, or "".
	Secrets     []string
	ExecutorDir string
	// RunAs is the user of the jobs, in the form of --run-as. UID is the user of the server.
	RunAs  string
	UID    int
	Logger *slog.Logger
}

// Check checks whether jobs can replace a file that the next start reads or executes. If root's server runs jobs as
// another user, Check returns an error for each file that this user could replace. If jobs run as the server's own
// user, executors protect the files, but cannot protect links. Check then logs a warning about each link that a job
// could replace.
func (n Names) Check() error {
	account, err := isolation.AccountFor(n.RunAs, n.UID)
	if err != nil {
		return nil // the executors report what is wrong with the user
	}
	names := append(slices.Clone(n.Secrets), Programs(n.ExecutorDir)...)
	if account != nil {
		if dir, err := executors.Folder(n.ExecutorDir); err == nil {
			names = append(names, dir) // so that the user cannot add a program there
		}
		var errs []error
		for _, name := range names {
			errs = append(errs, account.CheckProtected(name))
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
		err := forEachLink(name, func(link string) {
			n.Logger.Warn("file reached through a link that jobs can replace: the next start would then use another file",
				"file", name, "link", link, "change", "name the file that it leads to")
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("find links that jobs can replace: %w", err)
		}
	}
	return n.checkExecutor()
}

// checkExecutor logs a warning if a job could add an executor file that takes precedence over the present one.
func (n Names) checkExecutor() error {
	dir, err := executors.Folder(n.ExecutorDir)
	if err != nil {
		return nil // the start reports the error
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
